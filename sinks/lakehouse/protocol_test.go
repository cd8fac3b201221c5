package lakehouse

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// foreign commits actions to the table as another writer would.
func foreign(t *testing.T, store objstore.Store, actions ...action.Action) {
	t.Helper()
	tbl, err := table.Open(t.Context(), store, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Log().Commit(t.Context(), tbl.Snapshot().State(), translog.Change{Info: action.CommitInfo{Operation: "WRITE"}, Actions: actions}); err != nil {
		t.Fatal(err)
	}
}

// start opens a sink on a store as one driver holds it.
func (p place) start(t *testing.T, q sinks.QueryInfo, change ...func(*Config)) *sinktest.Driver {
	t.Helper()
	h := p.harness()
	h.Open = func(t *testing.T) sinks.Sink { return p.open(t, change...) }
	return sinktest.Start(t, h, q, nil)
}

func TestACommitHoldsBatchDigestEpochAndOffsetsInOneVersion(t *testing.T) {
	p := newPlace("delta")
	d := p.start(t, sinktest.Query("q", 3))
	d.Commit(sinks.Committed, 0, "a", []int64{1, 2, 3})
	log := translog.New(p.store, translog.Delta, nil)
	actions, _, err := log.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	info := actions[0].CommitInfo
	if info == nil || info.Operation != "STREAMING UPDATE" || info.OperationParameters["queryId"] != "q" || info.OperationParameters["epochId"] != "0" || info.TxnID == "" {
		t.Errorf("commitInfo: %+v", info)
	}
	batchID := int64(0)
	want := &action.BatchInfo{
		Pipeline: "conformance", Query: "q", Batch: &batchID, Epoch: 3, Entry: d.Query.Entry.String(),
		Digest: ident.DigestOf(sinktest.Entry(0, "a")).String(), Offsets: string(sinktest.Entry(0, "a")),
	}
	if diff := cmp.Diff(want, info.Batch); diff != "" {
		t.Errorf("batch in words (-want +got):\n%s", diff)
	}
	txns := map[string]int64{}
	for _, a := range actions {
		if a.Txn != nil {
			txns[a.Txn.AppID] = a.Txn.Version
		}
	}
	id := identityOf(d.Query, "")
	wantTxns := map[string]int64{"q": 0, "q#offsets": int64(ident.DigestOf(sinktest.Entry(0, "a")).Stored(0)), "q#epoch": 3, id.presence(): 3}
	if diff := cmp.Diff(wantTxns, txns); diff != "" {
		t.Errorf("txns (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(id.presence(), "microbatch/") || !strings.HasSuffix(id.presence(), "/q") {
		t.Errorf("presence txn %q", id.presence())
	}
}

func TestAnEmptyBatchCommitsTxnsAlone(t *testing.T) {
	p := newPlace("parquet")
	p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a")
	actions, _, err := translog.New(p.store, translog.Parquet, nil).Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range actions[1:] {
		if a.Txn == nil {
			t.Errorf("an empty batch holds %+v", a)
		}
	}
	if keys := p.keys(t, ".parquet"); len(keys) > 0 {
		t.Errorf("an empty batch made files: %v", keys)
	}
}

func TestForeignCommitsInBetween(t *testing.T) {
	add := action.Action{Add: &action.Add{Path: "f.parquet", PartitionValues: map[string]*string{}, Size: 1, DataChange: true}}
	wider := &action.Metadata{
		ID: "", Format: action.FileFormat{Provider: "parquet", Options: map[string]string{}}, PartitionBy: []string{}, Configuration: map[string]string{},
		Schema: `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"name","type":"string","nullable":true,"metadata":{}},{"name":"x","type":"string","nullable":true,"metadata":{}}]}`,
	}
	tests := []struct {
		name   string
		action func(id string) action.Action
		want   sinks.Outcome
		code   errcode.Code // of the error, or of why there is none
	}{
		{"an append", func(string) action.Action { return add }, sinks.Committed, errcode.Code{}},
		{"another application's txn", func(string) action.Action { return action.Action{Txn: &action.Txn{AppID: "other", Version: 5}} }, sinks.Committed, errcode.Code{}},
		{"a new column", func(id string) action.Action { m := *wider; m.ID = id; return action.Action{Metadata: &m} }, sinks.Conflict, errcode.TableConflict},
		{"a newer protocol that we know", func(string) action.Action {
			return action.Action{Protocol: &action.Protocol{MinReader: 1, MinWriter: 3}}
		}, sinks.Conflict, errcode.TableConflict},
		{"a newer protocol that we do not know", func(string) action.Action {
			return action.Action{Protocol: &action.Protocol{MinReader: 3, MinWriter: 7, ReaderFeatures: []string{"columnMapping2"}, WriterFeatures: []string{"columnMapping2"}}}
		}, 0, errcode.TableFeature},
		{"a newer epoch", func(string) action.Action { return action.Action{Txn: &action.Txn{AppID: "q#epoch", Version: 2}} }, sinks.Fenced, errcode.TableFenced},
		{"our batch by a writer without digests", func(string) action.Action { return action.Action{Txn: &action.Txn{AppID: "q", Version: 1}} }, 0, errcode.TableForeignBatch},
		{"a later batch of ours", func(string) action.Action { return action.Action{Txn: &action.Txn{AppID: "q", Version: 9}} }, 0, errcode.TableAhead},
		{"our batch number going back", func(string) action.Action { return action.Action{Txn: &action.Txn{AppID: "q", Version: -1}} }, 0, errcode.TableLog},
		{"another table", func(string) action.Action { m := *wider; m.ID = "t2"; return action.Action{Metadata: &m} }, 0, errcode.TableReplaced},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace("delta")
			d := p.start(t, sinktest.Query("q", 1))
			d.Commit(sinks.Committed, 0, "a", []int64{1})
			staged := d.Prepare(1, "a", []int64{2})
			foreign(t, p.store, test.action(d.Sink.Describe().Learned["table_id"]))
			r, err := d.Sink.Commit(t.Context(), staged)
			if r.Outcome != test.want || (err != nil) != (test.want == 0) || err != nil && !errcode.Has(err, test.code) {
				t.Fatalf("commit: %s, why %v, error %v; want %s %s", r.Outcome, r.Why, err, test.want, test.code.ID)
			}
			if err == nil && test.code.ID != "" && !errcode.Has(r.Why, test.code) {
				t.Errorf("why %v, want %s", r.Why, test.code.ID)
			}
			if test.want != sinks.Conflict {
				return
			}
			if err := d.Sink.Abort(t.Context(), staged); err != nil {
				t.Fatal(err)
			}
			d.Commit(sinks.Committed, 1, "a", []int64{2})
			if files := p.keys(t, ".parquet"); len(files) != 2 {
				t.Errorf("the refused attempt left files: %v", files)
			}
		})
	}
}

func TestABatchOfSparkIsTakenForOursOnceAtAStart(t *testing.T) {
	p := newPlace("delta")
	p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a", []int64{1})
	foreign(t, p.store, action.Action{Txn: &action.Txn{AppID: "q", Version: 1}})
	d := sinktest.Start(t, p.harness(), sinktest.Query("q", 2), &sinks.Intent{ID: 1})
	if v := d.Visible(); v.HasDigest || v.Batch != 1 {
		t.Fatalf("visible: %+v", v)
	}
	d.Commit(sinks.AlreadyCommitted, 1, "a", []int64{2})
	d.Commit(sinks.Committed, 2, "a", []int64{3})
}

// TestATableThatIsGoneIsTold: a table is removed between the look at it and the commit. The commit tells it or, of batches back to back, the next batch.
func TestATableThatIsGoneIsTold(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, pause := range []time.Duration{0, time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace("parquet")
				d := p.start(t, sinktest.Query("q", 1))
				d.Commit(sinks.Committed, 0, "a", []int64{1})
				staged := d.Prepare(1, "a", []int64{2})
				for _, key := range p.keys(t, "") {
					if err := p.store.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
				if again {
					p.start(t, sinktest.Query("other", 1)).Commit(sinks.Committed, 0, "a", []int64{7})
				}
				time.Sleep(pause)
				_, err := d.Sink.Commit(t.Context(), staged)
				if pause == 0 && err == nil {
					_, err = d.Sink.Prepare(t.Context(), sinktest.Batch(2, "a", memory.DefaultAllocator, []int64{3}))
				}
				if !errcode.Has(err, errcode.TableReplaced) {
					t.Errorf("made again %v, after %s: %v, want %s", again, pause, err, errcode.TableReplaced.ID)
				}
			})
		}
	}
}

func TestADriverThatSleptThroughALogCleanupIsFenced(t *testing.T) {
	synctest.Test(t, sleptThroughALogCleanup)
}

func sleptThroughALogCleanup(t *testing.T) {
	p := newPlace("parquet")
	old := p.start(t, sinktest.Query("q", 1))
	old.Commit(sinks.Committed, 0, "a", []int64{1})
	staged := old.Prepare(1, "old", []int64{2})
	newer := p.start(t, sinktest.Query("q", 2))
	newer.Commit(sinks.Committed, 1, "a", []int64{2})
	newer.Commit(sinks.Committed, 2, "a", []int64{3})
	time.Sleep(translog.MinRetention)
	log := newer.Sink.(*Sink).Table().Log()
	if _, err := log.WriteCheckpoint(t.Context(), newer.Sink.(*Sink).Table().Snapshot().State()); err != nil {
		t.Fatal(err)
	}
	for v := range int64(3) {
		if err := p.store.Delete(t.Context(), translog.Parquet.CommitKey(v)); err != nil {
			t.Fatal(err)
		}
	}
	old.Finish(sinks.Fenced, staged)
	if diff := cmp.Diff([]int64{1, 2, 3}, p.rows(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestLostAnswersAreSettledByIdentity loses the answer of the log put in each way that it can be lost (faults T1 to T3).
func TestLostAnswersAreSettledByIdentity(t *testing.T) {
	tests := []struct {
		name, rule string
		rival      bool // another writer takes the slot before our put
		want       sinks.Outcome
	}{
		{"landed and unanswered", "putifabsent:_metadata/#1 lose uncertain", false, sinks.Committed},
		{"landed and answered as taken", "putifabsent:_metadata/#1 lose exist", false, sinks.Committed},
		{"not landed and unanswered", "putifabsent:_metadata/#1 fail uncertain", false, sinks.Uncertain},
		{"unanswered and the slot is another's", "putifabsent:_metadata/#1 fail uncertain", true, sinks.Committed},
		{"landed and the store cannot be read", "get:_metadata/ fail", false, sinks.Uncertain},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := faultstore.New(mem.New())
			s, err := New(Config{Store: store})
			if err != nil {
				t.Fatal(err)
			}
			h := sinktest.Harness{Open: func(*testing.T) sinks.Sink { return s }}
			d := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
			d.Commit(sinks.Committed, 0, "a", []int64{1})
			staged := d.Prepare(1, "a", []int64{2})
			if test.rival {
				foreign(t, store, action.Action{Txn: &action.Txn{AppID: "rival", Version: 1}})
			}
			rules := []faultstore.Rule{faultstore.MustParse(test.rule)}
			if strings.HasPrefix(test.rule, "get") {
				rules = append(rules, faultstore.MustParse("putifabsent:_metadata/ lose uncertain"))
			}
			store.Inject(rules...)
			r, err := d.Sink.Commit(t.Context(), staged)
			store.Heal()
			if err != nil || r.Outcome != test.want {
				t.Fatalf("commit: %s, why %v, error %v; want %s", r.Outcome, r.Why, err, test.want)
			}
			if test.want == sinks.Uncertain {
				if !errcode.Has(r.Why, errcode.TableUncertain) {
					t.Errorf("why %v, want %s", r.Why, errcode.TableUncertain.ID)
				}
				if err := d.Sink.Abort(t.Context(), staged); err != nil || store.Count("delete", "") > 0 {
					t.Fatalf("abort after an unknown outcome: %v, %d deletes", err, store.Count("delete", ""))
				}
			}
		})
	}
}

// After a failed fsync nothing is deleted, and nothing is synced: a deletion that is synced would have the folder's fsync succeed.
func TestAFailedFsyncOfADataFileLeavesItWhereItIs(t *testing.T) {
	p := newPlace("parquet")
	s := p.open(t)
	if err := s.Check(t.Context(), sinktest.Schema()); err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
		t.Fatal(err)
	}
	p.store.Inject(faultstore.MustParse("commit lose fsync"))
	before := p.store.Count("sync", "")
	_, err := s.Prepare(t.Context(), sinktest.Batch(0, "a", memory.NewGoAllocator(), []int64{1}))
	if !errors.Is(err, objstore.ErrFsync) {
		t.Fatalf("prepared: %v", err)
	}
	if d, n := p.store.Count("delete", ""), p.store.Count("sync", "")-before; d+n > 0 || len(p.keys(t, ".parquet")) != 1 {
		t.Errorf("%d deletes, %d syncs, and %q is there", d, n, p.keys(t, ".parquet"))
	}
}

// TestAFailedFsyncCountsAmongOtherErrors: the files of two partitions are ended at once; one fails by itself, then the disk says that the fsync of the other has failed.
func TestAFailedFsyncCountsAmongOtherErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace("parquet", "name")
		s := p.open(t)
		if err := s.Check(t.Context(), sinktest.Schema()); err != nil {
			t.Fatal(err)
		}
		if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
			t.Fatal(err)
		}
		late, away := faultstore.MustParse("commit:name=even/ slow"), faultstore.MustParse("commit:name=odd/ fail")
		release := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(release) })
		late.Release, late.Err, away.Err = release, errcode.StoreFsync.Wrap(objstore.ErrFsync, "", ""), errcode.StoreUnreachable.New("", "away")
		p.store.Inject(late, away)
		b := sinktest.Batch(0, "a", memory.NewGoAllocator())
		b.Parts = []batch.Part{lifePart(sinktest.Schema(), 0)}
		_, err := s.Prepare(t.Context(), b)
		if !errors.Is(err, objstore.ErrFsync) || errcode.ClassOf(err) != errcode.Stop {
			t.Errorf("prepared: %v", err)
		}
		if n := p.store.Count("delete", ""); n > 0 {
			t.Errorf("%d files were deleted", n)
		}
	})
}

func TestAnEntryOfAnotherWriterIsMadeDurableBeforeItIsActedOn(t *testing.T) {
	store := faultstore.New(mem.New())
	s, err := New(Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	d := sinktest.Start(t, sinktest.Harness{Open: func(*testing.T) sinks.Sink { return s }}, sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	staged := d.Prepare(1, "a", []int64{2})
	foreign(t, store, action.Action{Txn: &action.Txn{AppID: "rival", Version: 1}})
	before := store.Count("sync", "_metadata/")
	d.Finish(sinks.Committed, staged)
	if got := store.Count("sync", "_metadata/") - before; got != 1 {
		t.Errorf("%d entries synced, want the foreign one", got)
	}
	store.Inject(faultstore.MustParse("sync:_metadata/ fail fsync"))
	fresh, err := New(Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Visible(t.Context(), d.Query); !errors.Is(err, objstore.ErrFsync) {
		t.Errorf("visible after a failed sync: %v", err)
	}
}

func TestASmallBatchCostsOneFileAndOneLogEntry(t *testing.T) {
	store := faultstore.New(mem.New())
	s, err := New(Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	d := sinktest.Start(t, sinktest.Harness{Open: func(*testing.T) sinks.Sink { return s }}, sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	calls := map[string]int{}
	count := func() map[string]int {
		out := map[string]int{}
		for _, op := range []string{"create", "putifabsent", "put", "list", "get", "open", "delete"} {
			out[op] = store.Count(op, "")
		}
		return out
	}
	calls = count()
	d.Commit(sinks.Committed, 1, "a", []int64{2}, []int64{3}, []int64{4})
	after := count()
	for op, n := range map[string]int{"create": 1, "putifabsent": 1, "put": 0, "list": 0, "get": 1, // of the newest entry, beside the rows
		"open": 0, "delete": 0} {
		if got := after[op] - calls[op]; got != n {
			t.Errorf("%d calls of %s, want %d", got, op, n)
		}
	}
}

func TestSweepDeletesOtherAttemptsOfTheBatchOnly(t *testing.T) {
	for _, by := range [][]string{nil, {"name"}} {
		p := newPlace("parquet", by...)
		d := p.start(t, sinktest.Query("q", 1))
		d.Commit(sinks.Committed, 0, "a", []int64{1})
		d.Prepare(1, "a", []int64{2}) // an attempt whose process died
		other := p.start(t, sinktest.Query("q2", 1))
		other.Prepare(1, "a", []int64{2}) // of another query, still at work
		next := p.start(t, sinktest.Query("q", 2))
		next.Prepare(2, "a", []int64{9}) // a later batch's
		next.Commit(sinks.Committed, 1, "a", []int64{2})
		before := p.keys(t, ".parquet")
		intent := sinks.Intent{ID: 1, Digest: ident.DigestOf(sinktest.Entry(1, "a"))}
		if err := next.Sink.(*Sink).Sweep(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		if got := p.keys(t, ".parquet"); len(got) != len(before)-1 {
			t.Errorf("partitioned by %v: %d files before the sweep, %d after", by, len(before), len(got))
		}
		if diff := cmp.Diff([]int64{1, 2}, p.rows(t)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		// A batch that is not committed is not swept.
		if err := next.Sink.(*Sink).Sweep(t.Context(), sinks.Intent{ID: 2}); err == nil {
			t.Error("swept a batch that is not in the log")
		}
	}
}

// TestSweepLooksEverywhereWhenThePipelineHasChanged: the attempt before an accepted change may have written to other partitions than the winner.
func TestSweepLooksEverywhereWhenThePipelineHasChanged(t *testing.T) {
	for _, changed := range []bool{false, true} {
		p := newPlace("parquet", "name")
		p.start(t, sinktest.Query("q", 1)).Prepare(0, "a", []int64{1}) // in partition "row 1"
		d := p.start(t, sinktest.Query("q", 2))
		d.Commit(sinks.Committed, 0, "a", []int64{2})
		if err := d.Sink.(*Sink).Sweep(t.Context(), sinks.Intent{ID: 0, Changed: changed}); err != nil {
			t.Fatal(err)
		}
		if left := len(p.keys(t, ".parquet")); left != map[bool]int{false: 2, true: 1}[changed] {
			t.Errorf("changed %v: %d files", changed, left)
		}
	}
}

func TestAnAttemptThatWasNotNeededLeavesNoFiles(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		p := newPlace(format)
		p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a", []int64{1})
		p.start(t, sinktest.Query("q", 2)).Commit(sinks.AlreadyCommitted, 0, "a", []int64{1})
		if files := p.keys(t, ".parquet"); len(files) != 1 {
			t.Errorf("%s: files %v", format, files)
		}
	}
}

func TestSweepIsLeftOutWhenItIsOffAndForDelta(t *testing.T) {
	for _, p := range []place{newPlace("parquet"), newPlace("delta")} {
		d := p.start(t, sinktest.Query("q", 1), func(c *Config) { c.SweepOff = true })
		d.Prepare(0, "a", []int64{1})
		d.Commit(sinks.Committed, 0, "a", []int64{1})
		if err := d.Sink.(*Sink).Sweep(t.Context(), sinks.Intent{ID: 0}); err != nil {
			t.Fatal(err)
		}
		if files := p.keys(t, ".parquet"); len(files) != 2 {
			t.Errorf("%s: files %v", p.format, files)
		}
	}
}

func TestNewColumnsComeInOneCommitWithTheirRows(t *testing.T) {
	p := newPlace("delta")
	p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a", []int64{1})
	wide := arrow.NewSchema(append(sinktest.Schema().Fields(), arrow.Field{Name: "extra", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), nil)

	strict := p.open(t)
	if err := strict.Check(t.Context(), wide); !errcode.Has(err, errcode.TableSchema) {
		t.Fatalf("strict: %v, want %s", err, errcode.TableSchema.ID)
	}
	s := p.open(t, func(c *Config) { c.SchemaEvolution = AddColumns })
	if err := s.Check(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(t.Context(), sinktest.Query("q", 2), nil); err != nil {
		t.Fatal(err)
	}
	id := s.Table().Snapshot().ID()
	for batchID := range ident.BatchID(2) {
		entry := sinktest.Entry(batchID+1, "a")
		b := &batch.Batch{ID: batchID + 1, Attempt: ident.NewAttempt(), Digest: ident.DigestOf(entry), Entry: entry, Schema: wide, Parts: []batch.Part{widePart(s, wide)}}
		staged, err := s.Prepare(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Commit(t.Context(), staged); err != nil || r.Outcome != sinks.Committed {
			t.Fatalf("commit: %s, %v, %v", r.Outcome, r.Why, err)
		}
	}
	history, err := s.Table().History(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var withSchema []int64
	for _, c := range history {
		for _, a := range c.Actions {
			if a.Metadata != nil {
				withSchema = append(withSchema, c.Version)
			}
		}
	}
	if diff := cmp.Diff([]int64{2, 0}, withSchema); diff != "" {
		t.Errorf("versions with metaData (-want +got):\n%s", diff)
	}
	if snap := s.Table().Snapshot(); snap.ID() != id || snap.Schema().NumFields() != 3 {
		t.Errorf("table %s with schema %s", snap.ID(), snap.Schema())
	}
	if got := len(p.rows(t)); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}

func widePart(s *Sink, wide *arrow.Schema) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(s.cfg.Alloc, wide)
			defer b.Release()
			b.Field(0).(*array.Int64Builder).Append(5)
			b.Field(1).(*array.StringBuilder).Append("x")
			b.Field(2).(*array.BooleanBuilder).Append(true)
			yield(batch.Chunk{Record: b.NewRecordBatch()}, nil)
		}
	})
}

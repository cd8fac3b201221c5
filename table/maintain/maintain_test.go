package maintain

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// lake is a table of ids, partitioned by their parity.
type lake struct {
	t      *testing.T
	store  objstore.Store
	log    *translog.Log
	state  *translog.State
	offset time.Duration // of the clock
	alloc  *memory.CheckedAllocator
}

func newLake(t *testing.T, format translog.Format) *lake {
	t.Helper()
	return newLakeIn(t, mem.New(), format)
}

func newLakeIn(t *testing.T, store objstore.Store, format translog.Format) *lake {
	t.Helper()
	l := &lake{t: t, store: store, alloc: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	t.Cleanup(func() { l.alloc.AssertSize(t, 0) })
	l.log = translog.New(l.store, format, func() time.Time { return time.Now().Add(l.offset) })
	ddl, err := schema.ParseDDL("id BIGINT, p STRING")
	if err != nil {
		t.Fatal(err)
	}
	text, err := schema.ToDelta(ddl)
	if err != nil {
		t.Fatal(err)
	}
	err = l.log.Begin(t.Context(), translog.Change{Actions: []action.Action{
		{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}},
		{Metadata: &action.Metadata{ID: "t", Format: action.FileFormat{Provider: "parquet"}, Schema: text, PartitionBy: []string{"p"}, Configuration: map[string]string{}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.refresh()
	return l
}

func (l *lake) refresh() {
	l.t.Helper()
	state, err := l.log.Load(l.t.Context(), translog.Latest)
	if err != nil {
		l.t.Fatal(err)
	}
	l.state = state
}

// stage makes files without committing them.
func (l *lake) stage(ids ...int64) []*action.Add {
	l.t.Helper()
	ddl, err := schema.FromDelta(l.state.Metadata.Schema)
	if err != nil {
		l.t.Fatal(err)
	}
	s := datafile.NewStage(l.store, datafile.Spec{
		Name: datafile.Name{Prefix: datafile.PrefixPart, Owner: "o", Attempt: ident.NewAttempt()}, Schema: ddl, PartitionBy: l.state.Metadata.PartitionBy, Alloc: l.alloc, Now: l.log.Now,
	})
	b := array.NewRecordBuilder(l.alloc, ddl)
	defer b.Release()
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.StringBuilder).Append([]string{"even", "odd"}[id%2])
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	if err := s.Write(l.t.Context(), rec); err != nil {
		l.t.Fatal(err)
	}
	adds, err := s.Finish(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return adds
}

func (l *lake) commit(actions ...action.Action) {
	l.t.Helper()
	state, err := l.log.Commit(l.t.Context(), l.state, translog.Change{Info: action.CommitInfo{Operation: "WRITE"}, Actions: actions})
	if err != nil {
		l.t.Fatal(err)
	}
	l.state = state
}

func (l *lake) append(ids ...int64) []*action.Add {
	l.t.Helper()
	adds := l.stage(ids...)
	var actions []action.Action
	for _, a := range adds {
		actions = append(actions, action.Action{Add: a})
	}
	l.commit(actions...)
	return adds
}

// ids are the live rows.
func (l *lake) ids() (ids []int64) {
	l.t.Helper()
	files, err := l.log.Files(l.t.Context(), translog.Latest)
	if err != nil {
		l.t.Fatal(err)
	}
	ddl, err := schema.FromDelta(files.State.Metadata.Schema)
	if err != nil {
		l.t.Fatal(err)
	}
	r := datafile.Reader{Store: l.store, Schema: ddl, PartitionBy: []string{"p"}, Alloc: l.alloc}
	for _, add := range files.Sorted() {
		for rec, err := range r.Read(l.t.Context(), add) {
			if err != nil {
				l.t.Fatal(err)
			}
			for i, id := range rec.Column(0).(*array.Int64).Int64Values() {
				if want := []string{"even", "odd"}[id%2]; rec.Column(1).(*array.String).Value(i) != want {
					l.t.Errorf("id %d is in partition %s", id, rec.Column(1).(*array.String).Value(i))
				}
				ids = append(ids, id)
			}
			rec.Release()
		}
	}
	slices.Sort(ids)
	return ids
}

func (l *lake) files() (keys []string) {
	l.t.Helper()
	for info, err := range l.store.List(l.t.Context(), "", "") {
		if err != nil {
			l.t.Fatal(err)
		}
		if strings.HasSuffix(info.Key, ".parquet") && !strings.HasPrefix(info.Key, "_") {
			keys = append(keys, info.Key)
		}
	}
	return keys
}

func numbers(from, to int64) (out []int64) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func TestOptimizeJoinsSmallFilesAndChangesNoRow(t *testing.T) {
	l := newLake(t, translog.Delta)
	for i := range int64(10) {
		l.append(numbers(i*10, i*10+10)...)
	}
	result, err := Optimize(t.Context(), l.log, OptimizeOptions{Alloc: l.alloc})
	if err != nil {
		t.Fatal(err)
	}
	if result.Removed != 20 || result.Made != 2 || result.Rows != 100 {
		t.Errorf("result: %+v", result)
	}
	if diff := cmp.Diff(numbers(0, 100), l.ids()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	// (N1): the commits hold commitInfo, add and remove alone, without a change of data.
	actions, _, err := l.log.Read(t.Context(), result.Version)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range actions {
		if ok := i == 0 && a.CommitInfo != nil || a.Add != nil && !a.Add.DataChange || a.Remove != nil && !a.Remove.DataChange; !ok {
			t.Errorf("line %d: %+v", i, a)
		}
	}
	again, err := Optimize(t.Context(), l.log, OptimizeOptions{Alloc: l.alloc})
	if err != nil || again.Version != -1 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}

func TestOptimizeOfFormatParquetAsksForForce(t *testing.T) {
	l := newLake(t, translog.Parquet)
	l.append(2)
	l.append(4)
	if _, err := Optimize(t.Context(), l.log, OptimizeOptions{}); !errcode.Has(err, errcode.TableForce) {
		t.Fatalf("without force: %v", err)
	}
	if _, err := Optimize(t.Context(), l.log, OptimizeOptions{Force: true, Alloc: l.alloc}); err != nil {
		t.Fatal(err)
	}
	report, err := Check(t.Context(), l.log, CheckOptions{Values: true})
	if err != nil || report.GlobExact || len(report.Replaced) != 2 || len(report.Problems) > 0 {
		t.Errorf("check after optimize: %+v, %v", report, err)
	}
	if _, err := Vacuum(t.Context(), l.log, VacuumOptions{Retain: new(time.Duration(0)), Force: true}); err != nil {
		t.Fatal(err)
	}
	report, err = Check(t.Context(), l.log, CheckOptions{Values: true})
	if err != nil || !report.GlobExact || report.Rows != 2 {
		t.Errorf("check after vacuum: %+v, %v", report, err)
	}
}

// rival is a store that lets another writer commit just before a log entry is put.
type rival struct {
	objstore.Store
	before func(key string)
}

func (r *rival) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if before := r.before; before != nil {
		r.before = nil
		before(key)
	}
	return r.Store.PutIfAbsent(ctx, key, data)
}

func TestOptimizeYieldsToOtherWriters(t *testing.T) {
	for name, act := range map[string]func(l *lake, first *action.Add){
		"an append": func(l *lake, _ *action.Add) { l.append(1000) },
		"a delete of a file that is being joined": func(l *lake, first *action.Add) {
			l.commit(action.Action{Remove: first.Tombstone(time.Now().UnixMilli(), true)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLake(t, translog.Delta)
			adds := l.append(0)
			l.append(2, 4)
			l.append(6)
			want := map[string][]int64{"an append": {0, 2, 4, 6, 1000}}[name]
			if want == nil {
				want = []int64{2, 4, 6}
			}
			store := &rival{Store: l.store, before: func(string) { act(l, adds[0]) }}
			result, err := Optimize(t.Context(), translog.New(store, translog.Delta, l.log.Now), OptimizeOptions{Alloc: l.alloc})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, l.ids()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if report, err := Check(t.Context(), l.log, CheckOptions{Values: true}); err != nil || len(report.Problems)+len(report.Orphans) > 0 {
				t.Errorf("check: %+v, %v (optimize: %+v)", report, err, result)
			}
		})
	}
}

// TestOptimizeMeetsADeleteThatCameBeforeItsLastGroup: while the files of one partition are joined, another writer deletes a file of the next partition.
func TestOptimizeMeetsADeleteThatCameBeforeItsLastGroup(t *testing.T) {
	for _, format := range []translog.Format{translog.Parquet, translog.Delta} {
		t.Run(string(format), func(t *testing.T) {
			l := newLake(t, format)
			l.append(0)
			l.append(2)
			odd := l.append(1)
			l.append(3)
			l.append(5)
			store := &rival{Store: l.store, before: func(string) { l.commit(action.Action{Remove: odd[0].Tombstone(time.Now().UnixMilli(), true)}) }}
			if _, err := Optimize(t.Context(), translog.New(store, format, l.log.Now), OptimizeOptions{Alloc: l.alloc, Force: true}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{0, 2, 3, 5}, l.ids()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if report, err := Check(t.Context(), l.log, CheckOptions{Values: true}); err != nil || len(report.Problems) > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}

func TestVacuumKeepsWhatMayBeNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLake(t, translog.Delta)
		first := l.append(0)
		l.append(2)
		l.stage(4) // of a killed attempt
		l.commit(action.Action{Remove: first[0].Tombstone(l.log.Now().UnixMilli(), true)})
		if err := l.store.Put(t.Context(), "_hidden/x.parquet", []byte("x")); err != nil {
			t.Fatal(err)
		}
		vacuum := func(o VacuumOptions) int {
			t.Helper()
			r, err := Vacuum(t.Context(), l.log, o)
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Keys)
		}
		if n := vacuum(VacuumOptions{}); n != 0 {
			t.Errorf("%d young files deleted", n)
		}
		for _, short := range []time.Duration{0, time.Hour, 47 * time.Hour} {
			if _, err := Vacuum(t.Context(), l.log, VacuumOptions{Retain: new(short)}); !errcode.Has(err, errcode.TableRetention) {
				t.Errorf("retain %s: %v", short, err)
			}
		}
		if n := vacuum(VacuumOptions{Force: true}); n != 0 {
			t.Errorf("force without a retention deleted %d young files", n)
		}
		<-time.After(8 * 24 * time.Hour)
		if n := vacuum(VacuumOptions{DryRun: true}); n != 2 || len(l.files()) != 3 {
			t.Errorf("dry run: %d files named, %d left", n, len(l.files()))
		}
		if n := vacuum(VacuumOptions{}); n != 2 || len(l.files()) != 1 {
			t.Errorf("%d files deleted, %d left", n, len(l.files()))
		}
		if diff := cmp.Diff([]int64{2}, l.ids()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if _, err := l.store.Stat(t.Context(), "_hidden/x.parquet"); err != nil {
			t.Errorf("a hidden file: %v", err)
		}
	})
}

// TestAClockThatIsYearsAheadDeletesNothing: a query has staged a file, then a machine whose clock is ten years ahead vacuums, then the query commits.
func TestAClockThatIsYearsAheadDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLake(t, translog.Delta)
		l.append(0)
		adds := l.stage(2)
		l.offset = 10 * 365 * 24 * time.Hour
		for _, retain := range []*time.Duration{nil, new(48 * time.Hour)} {
			if r, err := Vacuum(t.Context(), l.log, VacuumOptions{Retain: retain}); err != nil || len(r.Keys) > 0 {
				t.Errorf("deleted %v, %v", r.Keys, err)
			}
		}
		l.commit(action.Action{Add: adds[0]})
		if diff := cmp.Diff([]int64{0, 2}, l.ids()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

func TestVacuumObeysTheTablesOwnRetention(t *testing.T) {
	l := newLake(t, translog.Delta)
	m := l.state.Metadata
	m.Configuration = map[string]string{"delta.deletedFileRetentionDuration": "interval 30 days"}
	l.commit(action.Action{Metadata: &m})
	if _, err := Vacuum(t.Context(), l.log, VacuumOptions{Retain: new(7 * 24 * time.Hour)}); !errcode.Has(err, errcode.TableRetention) {
		t.Errorf("vacuum: %v", err)
	}
}

func TestCheckTellsWhatIsWrong(t *testing.T) {
	damage := map[string]func(l *lake, adds []*action.Add) (place, text string){
		"a data file is gone": func(l *lake, adds []*action.Add) (string, string) {
			return adds[0].Path, must(l, l.store.Delete(l.t.Context(), adds[0].Path), "gone")
		},
		"a data file is cut": func(l *lake, adds []*action.Add) (string, string) {
			data, err := l.store.Get(l.t.Context(), adds[0].Path)
			must(l, err, "")
			return adds[0].Path, must(l, l.store.Put(l.t.Context(), adds[0].Path, data[:len(data)/2]), "cannot be read")
		},
		"a data file is another": func(l *lake, adds []*action.Add) (string, string) {
			data, err := l.store.Get(l.t.Context(), l.stage(2, 4, 6, 8, 10, 12)[0].Path)
			must(l, err, "")
			return adds[0].Path, must(l, l.store.Put(l.t.Context(), adds[0].Path, data), "the log says")
		},
		"a log entry is gone": func(l *lake, _ []*action.Add) (string, string) {
			return translog.Delta.CommitKey(1), must(l, l.store.Delete(l.t.Context(), translog.Delta.CommitKey(1)), "missing")
		},
		"a log entry is torn": func(l *lake, _ []*action.Add) (string, string) {
			return translog.Delta.CommitKey(2), must(l, l.store.Put(l.t.Context(), translog.Delta.CommitKey(2), []byte(`{"add":{"pa`)), "cannot be read")
		},
		"a path leaves the table": func(l *lake, _ []*action.Add) (string, string) {
			l.commit(action.Action{Add: &action.Add{Path: "../../etc/passwd", PartitionValues: map[string]*string{}, DataChange: true}})
			return "../../etc/passwd", "leaves the table"
		},
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			l := newLake(t, translog.Delta)
			adds := l.append(0, 2)
			l.append(4)
			place, text := do(l, adds)
			report, err := Check(t.Context(), l.log, CheckOptions{Values: true})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Key == place && strings.Contains(p.Text, text) })
			if !found || report.GlobExact {
				t.Errorf("want %q at %s, have %+v", text, place, report)
			}
		})
	}
}

func must(l *lake, err error, text string) string {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

func TestPlanLeavesLargeFilesAndOtherPartitionsAlone(t *testing.T) {
	even, odd := "even", "odd"
	file := func(name string, size, modified int64, p *string) *action.Add {
		return &action.Add{Path: name, Size: size, Modified: modified, PartitionValues: map[string]*string{"p": p}}
	}
	groups := plan([]*action.Add{
		file("a", 10, 3, &even), file("b", 80, 2, &even), file("c", 60, 1, &even), file("d", 10, 4, &odd), file("e", 35, 5, &even), file("f", 20, 6, &even), file("g", 5, 1, nil),
	}, 100)
	var got []string
	for _, g := range groups {
		names := ""
		for _, a := range g {
			names += a.Path
		}
		got = append(got, names)
	}
	// b is large enough, d and g are alone in their partitions; c and a come first, e would be too much with them.
	if diff := cmp.Diff([]string{"ca", "ef"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestAClockThatIsYearsAheadLeavesFilesThatAreBeingWritten: they have a temporary name, or are parts of an upload, and nothing else is old.
func TestAClockThatIsYearsAheadLeavesFilesThatAreBeingWritten(t *testing.T) {
	store, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLakeIn(t, store, translog.Delta)
	w, err := store.Create(t.Context(), "p=0/part-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	l.offset = 10 * 365 * 24 * time.Hour
	if r, err := Vacuum(t.Context(), l.log, VacuumOptions{}); err != nil || r.Tidy != 0 {
		t.Errorf("vacuum: %+v, %v", r, err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

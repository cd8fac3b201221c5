package lakehouse

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/maintain"
	"microbatch/table/translog"
)

// TestARunningQueryKeepsItsTableInOrder lets a query run for weeks, with the policy of the pipeline file: optimize every hour, vacuum after 7 days.
func TestARunningQueryKeepsItsTableInOrder(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(format)
				d := p.start(t, sinktest.Query("q", 1), func(c *Config) {
					c.Maintenance = Maintenance{OptimizeEvery: time.Hour, VacuumRetain: 7 * 24 * time.Hour}
					c.AllowReplacedFiles = true
				})
				s := d.Sink.(*Sink)
				var want []int64
				for id := range ident.BatchID(60) {
					d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
					want = append(want, int64(id))
					<-time.After(20 * time.Hour)
					if err := s.Maintain(t.Context(), time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				rows := p.rows(t)
				slices.Sort(rows)
				if !slices.Equal(rows, want) {
					t.Fatalf("rows %v", rows)
				}
				if files := p.keys(t, ".parquet"); len(files) > 30 {
					t.Errorf("%d files after optimize and vacuum", len(files))
				}
				if len(p.keys(t, ".checkpoint.")) == 0 {
					t.Error("no table checkpoint was written")
				}
				if first := p.keys(t, translog.Format(format).CommitKey(0)); len(first) > 0 {
					t.Error("the log was not cleaned after 50 days")
				}
				report, err := s.Table().Check(t.Context(), maintain.CheckOptions{Values: true})
				if err != nil || len(report.Problems)+len(report.Orphans) > 0 || report.Rows != 60 {
					t.Errorf("check: %+v, %v", report, err)
				}
				if v := d.Visible(); v.Batch != 59 {
					t.Errorf("batch %s is visible after the clean-up", v.Batch)
				}
			})
		})
	}
}

// TestMaintenanceCountsOverRestarts starts the query anew for each batch, as `--once` by a timer does.
func TestMaintenanceCountsOverRestarts(t *testing.T) {
	p := newPlace("delta")
	start := time.Now()
	for id := range ident.BatchID(8) {
		d := p.start(t, sinktest.Query("q", ident.Epoch(id)+1), func(c *Config) { c.Maintenance.OptimizeEvery = time.Hour })
		d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
		if err := d.Sink.(*Sink).Maintain(t.Context(), start.Add(time.Duration(id)*20*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if files := p.keys(t, "opt-"); len(files) != 2 {
		t.Errorf("files of optimize: %v, want two in 140 minutes", files)
	}
}

func TestAnEpochIsCommittedWithoutKnowingTheRows(t *testing.T) {
	p := newPlace("parquet")
	if err := p.open(t).Fence(t.Context(), sinktest.Query("q", 1)); err != nil {
		t.Fatal(err)
	}
	if keys := p.keys(t, ""); len(keys) > 0 {
		t.Errorf("a fence without a table wrote %v", keys)
	}
	d := p.start(t, sinktest.Query("q", 1))
	if err := p.open(t).Fence(t.Context(), sinktest.Query("q", 2)); err != nil {
		t.Fatal(err)
	}
	d.Commit(sinks.Fenced, 0, "a", []int64{1})
}

func TestMaintenanceIsOffByDefault(t *testing.T) {
	p := newPlace("parquet")
	d := p.start(t, sinktest.Query("q", 1))
	for id := range ident.BatchID(5) {
		d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
		if err := d.Sink.(*Sink).Maintain(t.Context(), time.Now().Add(time.Duration(id)*1000*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if files := p.keys(t, ".parquet"); len(files) != 5 {
		t.Errorf("%d files", len(files))
	}
}

func TestSettingsThatCannotBeAreAllTold(t *testing.T) {
	_, err := New(Config{Format: "iceberg", SchemaEvolution: "yes", Compression: "lzma", Encoding: "fast", Maintenance: Maintenance{VacuumRetain: time.Hour}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, word := range []string{"no store", "iceberg", "yes", "lzma", "fast", "vacuum_retain"} {
		if !contains(err, word) {
			t.Errorf("%q is not told: %v", word, err)
		}
	}
	if _, err := New(Config{Store: newPlace("parquet").store, Maintenance: Maintenance{OptimizeEvery: time.Hour}}); !contains(err, "allow_replaced_files") {
		t.Errorf("optimize of format parquet without leave: %v", err)
	}
}

func TestWhatIsThereIsComparedBeforeAnythingIsClaimed(t *testing.T) {
	p := newPlace("delta")
	p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a", []int64{1})
	check := func(c Config) error {
		t.Helper()
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return s.Check(t.Context(), sinktest.Schema())
	}
	if err := check(Config{Store: p.store, Format: "parquet"}); !errcode.Has(err, errcode.TableFormat) {
		t.Errorf("another format: %v", err)
	}
	if err := check(Config{Store: p.store, Format: "delta", PartitionBy: []string{"name"}}); !errcode.Has(err, errcode.TablePartitions) {
		t.Errorf("other partition columns: %v", err)
	}
	fresh := newPlace("parquet")
	if err := check(Config{Store: fresh.store, PartitionBy: []string{"no"}}); !errcode.Has(err, errcode.TablePartitions) {
		t.Errorf("an unknown partition column: %v", err)
	}
	if err := check(Config{Store: fresh.store, PartitionBy: []string{"id", "name"}}); !errcode.Has(err, errcode.TablePartitions) {
		t.Errorf("partition columns alone: %v", err)
	}
	if err := check(Config{Store: fresh.store, Format: "delta", Properties: map[string]string{"delta.enableDeletionVectors": "true"}}); !errcode.Has(err, errcode.TableFeature) {
		t.Errorf("a property that needs a feature: %v", err)
	}
	if err := fresh.store.Put(t.Context(), "old/x.parquet", []byte("PAR1")); err != nil {
		t.Fatal(err)
	}
	if err := check(Config{Store: fresh.store}); !errcode.Has(err, errcode.TableNoLog) {
		t.Errorf("Parquet files without a log: %v", err)
	}
	if err := p.store.Put(t.Context(), translog.Parquet.CommitKey(0), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Open(t.Context(), p.store, table.Options{}); !errcode.Has(err, errcode.TableFormat) {
		t.Errorf("two logs: %v", err)
	}
}

// Two first starts on the same place: one has found no log, then the other makes the table and writes a batch, then the first finds data files. They are the table's.
func TestATableThatIsMadeBetweenTwoLooksIsNoFolderOfFiles(t *testing.T) {
	p := newPlace("parquet")
	s := p.open(t, func(c *Config) {
		c.Store = &overtaken{Store: p.store, overtake: func() {
			p.start(t, sinktest.Query("q", 1)).Commit(sinks.Committed, 0, "a", []int64{1})
		}}
	})
	if err := s.Check(t.Context(), sinktest.Schema()); err != nil || s.Table() == nil {
		t.Errorf("%v; the table: %v", err, s.Table())
	}
}

// overtaken is a store in which something happens before the first listing of everything.
type overtaken struct {
	objstore.Store
	overtake func()
}

func (s *overtaken) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	if f := s.overtake; f != nil && prefix == "" {
		s.overtake = nil
		f()
	}
	return s.Store.List(ctx, prefix, after)
}

// TestUpkeepGoesOnAfterAClockThatWasYearsAhead: a machine started with its clock ten years ahead, upkeep was done and noted, then the clock was put right.
func TestUpkeepGoesOnAfterAClockThatWasYearsAhead(t *testing.T) {
	for name, restart := range map[string]bool{"one process": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace("delta")
				start := func(epoch ident.Epoch) *Sink {
					return p.start(t, sinktest.Query("q", epoch), func(c *Config) { c.Maintenance.OptimizeEvery = time.Hour }).Sink.(*Sink)
				}
				s := start(1)
				maintain := func(at time.Time) {
					t.Helper()
					if err := s.Maintain(t.Context(), at); err != nil {
						t.Fatal(err)
					}
				}
				maintain(time.Now())
				maintain(time.Now().Add(10 * 365 * 24 * time.Hour))
				if restart {
					s = start(2)
				}
				maintain(time.Now())
				time.Sleep(2 * time.Hour)
				if restart {
					s = start(3)
				}
				if optimize, _, err := s.due(t.Context(), s.Table(), time.Now()); err != nil || !optimize {
					t.Errorf("it is due: %v, %v", optimize, err)
				}
			})
		})
	}
}

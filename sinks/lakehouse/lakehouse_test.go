package lakehouse

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/translog"
)

// place is a table's place in memory, where answers can be lost.
type place struct {
	store  *faultstore.Store
	format string
	by     []string
}

func newPlace(format string, by ...string) place {
	return place{store: faultstore.New(mem.New()), format: format, by: by}
}

func (p place) open(t *testing.T, change ...func(*Config)) *Sink {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { alloc.AssertSize(t, 0) })
	c := Config{Store: p.store, Format: p.format, PartitionBy: p.by, Alloc: alloc, TempDir: t.TempDir()}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows are the ids that the table holds.
func (p place) rows(t *testing.T) []int64 {
	t.Helper()
	if _, err := translog.Detect(t.Context(), p.store); err != nil {
		return nil
	}
	tbl, err := table.Open(t.Context(), p.store, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	var ids []int64
	for rec, err := range tbl.Snapshot().Read(t.Context(), []string{"id"}, alloc) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, rec.Column(0).(*array.Int64).Int64Values()...)
		rec.Release()
	}
	return ids
}

// keys are all keys of the place whose name contains a text.
func (p place) keys(t *testing.T, part string) (keys []string) {
	t.Helper()
	for info, err := range p.store.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info.Key, part) {
			keys = append(keys, info.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (p place) harness() sinktest.Harness {
	return sinktest.Harness{
		Open:  func(t *testing.T) sinks.Sink { return p.open(t) },
		Rows:  p.rows,
		State: func(t *testing.T) string { return strings.Join(p.keys(t, ""), "\n") },
		LoseAnswer: func(t *testing.T, landed bool) {
			rule := faultstore.Rule{Op: "putifabsent", Prefix: translog.Format(p.format).Dir(), Nth: 1, Kind: faultstore.Fail, Err: objstore.ErrUncertain}
			if landed {
				rule.Kind = faultstore.Lose
			}
			p.store.Inject(rule)
		},
	}
}

func TestConformance(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			sinktest.Run(t, func(*testing.T) sinktest.Harness { return newPlace(format).harness() })
		})
		for name, m := range map[string]Merge{
			"upsert": {Mode: Upsert, Keys: []string{"id"}}, "upsert in order": {Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"name"}}, "deduplicated": {DeduplicateBy: []string{"id"}},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				sinktest.Run(t, func(*testing.T) sinktest.Harness {
					p := newPlace(format)
					h := p.harness()
					h.Open = func(t *testing.T) sinks.Sink {
						return p.open(t, func(c *Config) { c.Merge, c.AllowReplacedFiles = m, true })
					}
					return h
				})
			})
		}
		t.Run(format+" partitioned", func(t *testing.T) {
			sinktest.Run(t, func(*testing.T) sinktest.Harness { return newPlace(format, "name").harness() })
		})
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

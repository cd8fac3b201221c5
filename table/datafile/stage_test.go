package datafile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

func twoColumns() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "p", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
}

// records are n rows in records of some length, the partition of each by a function.
func records(alloc memory.Allocator, n, length int, partition func(id int) string) (recs []arrow.RecordBatch) {
	b := array.NewRecordBuilder(alloc, twoColumns())
	defer b.Release()
	for id := range n {
		b.Field(0).(*array.StringBuilder).Append(partition(id))
		b.Field(1).(*array.Int64Builder).Append(int64(id))
		if (id+1)%length == 0 || id == n-1 {
			recs = append(recs, b.NewRecordBatch())
		}
	}
	return recs
}

func checked(t *testing.T) *memory.CheckedAllocator {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { alloc.AssertSize(t, 0) })
	return alloc
}

// readBack reads all rows of some files and returns the ids by partition, in the order of the file.
func readBack(t *testing.T, store objstore.Store, alloc memory.Allocator, adds []*action.Add) map[string][]int64 {
	t.Helper()
	out := map[string][]int64{}
	r := Reader{Store: store, Schema: twoColumns(), PartitionBy: []string{"p"}, Alloc: alloc}
	for _, add := range adds {
		rows := int64(0)
		for rec, err := range r.Read(t.Context(), add) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(rec.NumRows()) {
				p := rec.Column(0).(*array.String).Value(i)
				out[p] = append(out[p], rec.Column(1).(*array.Int64).Value(i))
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows != add.Rows() {
			t.Errorf("%s has %d rows, its statistics say %d", add.Path, rows, add.Rows())
		}
	}
	return out
}

// counting notes how many files are open at once.
type counting struct {
	objstore.Store
	mu         sync.Mutex
	open, most int
}

func (c *counting) Create(ctx context.Context, key string) (objstore.Writer, error) {
	w, err := c.Store.Create(ctx, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.most = max(c.most, c.open)
	return &countedWriter{w, c}, err
}

type countedWriter struct {
	objstore.Writer
	c *counting
}

func (w *countedWriter) Commit(ctx context.Context) error {
	w.c.mu.Lock()
	w.c.open--
	w.c.mu.Unlock()
	return w.Writer.Commit(ctx)
}

func TestManyPartitionsKeepFewFilesOpenAndGetOneFileEach(t *testing.T) {
	for _, partitions := range []int{1, 5, 64, 65, 1000} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			alloc := checked(t)
			store := &counting{Store: mem.New()}
			temp := t.TempDir()
			s := NewStage(store, Spec{Schema: twoColumns(), PartitionBy: []string{"p"}, Alloc: alloc, TempDir: temp})
			rng := rand.New(rand.NewPCG(1, uint64(partitions)))
			recs := records(alloc, 20_000, 1000, func(int) string { return fmt.Sprintf("p%d", rng.IntN(partitions)) })
			var group errgroup.Group
			for part := range 4 {
				group.Go(func() error {
					for i := part; i < len(recs); i += 4 {
						if err := s.Write(t.Context(), recs[i]); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			adds, err := s.Finish(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range recs {
				r.Release()
			}
			if store.most > 64 {
				t.Errorf("%d files were open at once", store.most)
			}
			if len(adds) != partitions {
				t.Errorf("%d files for %d partitions", len(adds), partitions)
			}
			total := 0
			for p, ids := range readBack(t, store, alloc, adds) {
				total += len(ids)
				slices.Sort(ids)
				if len(slices.Compact(ids)) != len(ids) {
					t.Errorf("partition %s has rows twice", p)
				}
			}
			if total != 20_000 || s.Rows() != 20_000 {
				t.Errorf("%d rows read, %d staged", total, s.Rows())
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("temporary files left: %v, %v", left, err)
			}
		})
	}
}

func TestRowsThatCannotBeSpilledAreAnErrorWithThePlace(t *testing.T) {
	alloc := checked(t)
	gone := filepath.Join(t.TempDir(), "gone")
	s := NewStage(mem.New(), Spec{Schema: twoColumns(), PartitionBy: []string{"p"}, Alloc: alloc, MaxOpen: 1, TempDir: gone})
	var err error
	for _, r := range records(alloc, 100, 10, func(i int) string { return fmt.Sprintf("p%d", i%10) }) {
		err = errors.Join(err, s.Write(t.Context(), r))
		r.Release()
	}
	if err == nil {
		_, err = s.Finish(t.Context())
	}
	if !errcode.Has(err, errcode.SpoolFailed) || !strings.Contains(err.Error(), gone) {
		t.Error(err)
	}
	if err := s.Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRowsStayInOrderWithinAPartition(t *testing.T) {
	for _, maxOpen := range []int{64, 1} { // with one file open, all but one partition go through the spill
		alloc := checked(t)
		store := mem.New()
		s := NewStage(store, Spec{Schema: twoColumns(), PartitionBy: []string{"p"}, Alloc: alloc, TempDir: t.TempDir(), MaxOpen: maxOpen})
		for _, r := range records(alloc, 5000, 700, func(id int) string { return string(rune('a' + id%3)) }) {
			if err := s.Write(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Release()
		}
		adds, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for p, ids := range readBack(t, store, alloc, adds) {
			if !slices.IsSorted(ids) {
				t.Errorf("max open %d: partition %s is out of order", maxOpen, p)
			}
		}
	}
}

func TestFilesAreCutByBytes(t *testing.T) {
	alloc := checked(t)
	store := mem.New()
	rng := rand.New(rand.NewPCG(1, 2))
	s := NewStage(store, Spec{Schema: twoColumns(), Alloc: alloc, TargetBytes: 100_000, Parquet: ParquetOptions{RowGroupBytes: 50_000}})
	for _, r := range records(alloc, 60_000, 8192, func(int) string { return fmt.Sprint(rng.Uint64()) }) {
		if err := s.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	adds, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(adds) < 5 {
		t.Errorf("%d files", len(adds))
	}
	for _, a := range adds {
		if a.Size > 400_000 {
			t.Errorf("%s has %d bytes", a.Path, a.Size)
		}
	}
}

func TestAnAbortedStageLeavesNothing(t *testing.T) {
	for _, rule := range []string{"", "write#3 fail", "commit#2 fail", "create#2 fail", "commit#1 lose"} {
		t.Run(rule, func(t *testing.T) {
			alloc := checked(t)
			store := faultstore.New(mem.New())
			if rule != "" {
				store.Inject(faultstore.MustParse(rule))
			}
			temp := t.TempDir()
			s := NewStage(store, Spec{Schema: twoColumns(), PartitionBy: []string{"p"}, Alloc: alloc, MaxOpen: 3, TempDir: temp})
			var err error
			for _, r := range records(alloc, 30_000, 8192, func(id int) string { return fmt.Sprint(id % 5) }) {
				if err == nil {
					err = s.Write(t.Context(), r)
				}
				r.Release()
			}
			if err == nil && rule != "" {
				_, err = s.Finish(t.Context())
			}
			if (err != nil) != (rule != "") {
				t.Fatalf("error %v", err)
			}
			store.Heal()
			if err := s.Abort(t.Context()); err != nil {
				t.Fatal(err)
			}
			for info, err := range store.List(t.Context(), "", "") {
				t.Errorf("left: %s, %v", info.Key, err)
			}
		})
	}
}

func TestNamesTellEveryAttemptOfABatch(t *testing.T) {
	owner := OwnerOf("q", shardOf(1, 2))
	if owner == OwnerOf("q", shardOf(0, 2)) || owner == OwnerOf("q2", shardOf(1, 2)) {
		t.Fatal("owners of different queries or shards are alike")
	}
	key := "p=a%2Db/" + Name{Prefix: PrefixPart, Owner: owner, Batch: 12, Attempt: "00ff"}.file(3, "zstd")
	if want := "part-00003-" + string(owner) + "-12-00ff.zstd.parquet"; path.Base(key) != want {
		t.Errorf("name %s, want %s", path.Base(key), want)
	}
	if !Wrote(key, owner, 12) || Wrote(key, owner, 1) || Wrote(key, owner, 2) || Wrote(key, "other", 12) || Wrote(strings.Replace(key, "part-", "opt-", 1), owner, 12) {
		t.Error("a file is taken for another batch's, or not for its own")
	}
}

func TestTheTableSaysHowManyColumnsAreDescribed(t *testing.T) {
	for property, want := range map[string]string{
		"":   `{"numRecords":3,"minValues":{"p":"x","id":0},"maxValues":{"p":"x","id":2},"nullCount":{"p":0,"id":0}}`,
		"1":  `{"numRecords":3,"minValues":{"p":"x"},"maxValues":{"p":"x"},"nullCount":{"p":0}}`,
		"0":  `{"numRecords":3}`,
		"-1": `{"numRecords":3,"minValues":{"p":"x","id":0},"maxValues":{"p":"x","id":2},"nullCount":{"p":0,"id":0}}`,
	} {
		s := NewStage(mem.New(), Spec{Schema: twoColumns(), Indexed: property})
		if err := s.Write(t.Context(), records(memory.DefaultAllocator, 3, 3, func(int) string { return "x" })[0]); err != nil {
			t.Fatal(err)
		}
		adds, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if adds[0].Stats != want {
			t.Errorf("%q: %s, want %s", property, adds[0].Stats, want)
		}
	}
}

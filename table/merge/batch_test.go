package merge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/heap"
	"microbatch/objstore/mem"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

const rowDDL = "k BIGINT, n INT, v STRING"

// countedOf are the rows of a batch that count, with rows beyond some bytes on local disk.
func countedOf(t *testing.T, r Rule, limit int64, parts ...[]string) (rows []string, err error) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	empty := recordOf(t, rowDDL)
	if r.Keys, err = NewColumns(empty.Schema(), []string{"k"}, nil); err != nil {
		t.Fatal(err)
	}
	r.TempDir, r.Alloc = t.TempDir(), alloc
	b := NewBatch(r)
	defer b.Close()
	b.spool.limit = limit
	for n, part := range parts {
		for lines := range slices.Chunk(part, 2) {
			if err := b.Add(n, recordOf(t, rowDDL, lines...)); err != nil {
				return nil, err
			}
		}
	}
	if err := b.Resolve(t.Context()); err != nil {
		return nil, err
	}
	err = b.Upserts(t.Context(), func(rec arrow.RecordBatch) error {
		for row := range int(rec.NumRows()) {
			var words []string
			for _, c := range rec.Columns() {
				words = append(words, c.ValueStr(row))
			}
			rows = append(rows, strings.Join(words, " "))
		}
		return nil
	})
	slices.Sort(rows)
	return rows, err
}

// TestRowsOnDiskAreThoseOfTheBatch: a batch that does not stay in memory comes to the same rows, whether they are told apart by arrival, by an order or by their content.
func TestRowsOnDiskAreThoseOfTheBatch(t *testing.T) {
	order, err := NewColumns(recordOf(t, rowDDL).Schema(), []string{"n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := [][]string{{"1 1 a", "2 5 b", "1 3 c", "3 1 d", "1 2 e"}, {"2 4 f", "3 1 d", "4 - g"}}
	for _, test := range []struct {
		rule Rule
		want []string
	}{
		{Rule{}, []string{"1 2 e", "2 4 f", "3 1 d", "4 (null) g"}},
		{Rule{Order: order}, []string{"1 3 c", "2 5 b", "3 1 d", "4 (null) g"}},
		{Rule{Order: order, First: true}, []string{"1 1 a", "2 4 f", "3 1 d", "4 (null) g"}},
		{Rule{First: true}, []string{"1 1 a", "2 4 f", "3 1 d", "4 (null) g"}},
	} {
		for _, limit := range []int64{0, 1, 1 << 30} {
			rows, err := countedOf(t, test.rule, limit, parts...)
			if err != nil || !slices.Equal(rows, test.want) {
				t.Errorf("%+v with %d bytes in memory: %q, want %q: %v", test.rule, limit, rows, test.want, err)
			}
		}
	}
	if _, err := countedOf(t, Rule{Order: order}, 0, []string{"1 1 a", "1 1 b"}); !errcode.Has(err, errcode.TableNoOrder) || !strings.Contains(err.Error(), "k 1") {
		t.Error(err)
	}
	if rows, err := countedOf(t, Rule{Order: order}, 0, []string{"1 1 a", "1 1 b", "1 2 c"}); err != nil || len(rows) != 1 {
		t.Error("rows before the one that counts need no order among themselves:", rows, err)
	}
}

func TestKeysBeyondTheBudgetAreAnError(t *testing.T) {
	var rows []string
	for i := range 100_000 {
		rows = append(rows, fmt.Sprint(i, " 1 v"))
	}
	if _, err := countedOf(t, Rule{MaxBytes: 1 << 20}, 0, rows); !errcode.Has(err, errcode.TableKeysTooMany) {
		t.Error(err)
	}
}

// TestAFileIsRewrittenAsAStream: of a file of 300,000 rows, 30 MB of text, only a few records are in memory at once.
func TestAFileIsRewrittenAsAStream(t *testing.T) {
	store := mem.New()
	spec := datafile.Spec{Name: datafile.Name{Prefix: "part", Owner: "o", Attempt: ident.NewAttempt()}, Schema: recordOf(t, rowDDL).Schema()}
	stage := datafile.NewStage(store, spec)
	pad := strings.Repeat("x", 100)
	for from := 0; from < 300_000; from += 5000 {
		var rows []string
		for i := range 5000 {
			rows = append(rows, fmt.Sprintf("%d 1 %d%s", from+i, from+i, pad))
		}
		rec := recordOf(t, rowDDL, rows...)
		if err := stage.Write(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	files, err := stage.Finish(t.Context())
	if err != nil || len(files) != 1 {
		t.Fatal(len(files), err)
	}
	b := keysOf(t, "k BIGINT", "7", "150000", "299999", "300001")
	alloc := &heap.Peak{Allocator: memory.NewGoAllocator()}
	target := &Target{Store: store, Schema: spec.Schema, Batch: b, Alloc: alloc}
	spec.Name.Attempt, spec.Alloc = ident.NewAttempt(), alloc
	stage = datafile.NewStage(store, spec)
	place := stage.Place("", nil)
	copied, err := target.Rewrite(t.Context(), files, place)
	if err == nil {
		err = place.End(t.Context())
	}
	if err != nil || copied != 299_997 {
		t.Fatal(copied, err)
	}
	if r := b.Result(); r.Updated != 3 || r.Inserted != 1 || r.Deleted != 0 {
		t.Errorf("%+v", r)
	}
	if alloc.Now != 0 || alloc.Most > 8<<20 {
		t.Errorf("%d bytes at once, %d in the end", alloc.Most, alloc.Now)
	}
}

func TestSmallFilesOfAPartitionAreRewrittenTogether(t *testing.T) {
	x := "x"
	file := func(path string, size int64, p *string) *action.Add {
		return &action.Add{Path: path, Size: size, PartitionValues: map[string]*string{"p": p}}
	}
	groups := Groups([]*action.Add{
		file("a", 10, nil), file("b", 900, nil), file("c", 20, &x), file("d", 30, nil), file("e", 99, nil), file("f", 99, nil),
		file("g", 99, nil), file("h", 99, nil), file("i", 99, nil), file("j", 99, nil), file("k", 99, nil), file("l", 99, nil),
	}, 800)
	var got []string
	for _, g := range groups {
		var paths []string
		for _, a := range g {
			paths = append(paths, a.Path)
		}
		got = append(got, strings.Join(paths, "+"))
	}
	if want := []string{"a+d+e+f+g+h+i+j+k", "b", "c", "l"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

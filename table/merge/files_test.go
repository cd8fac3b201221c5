package merge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/table/action"
)

// TestAKeptListIsTheList: after random adds and removes, the files that a kept list finds for a batch are those whose lines in the log say that they may hold its keys, and
// what it says of each is what the commit that removes it needs.
func TestAKeptListIsTheList(t *testing.T) {
	const ddl = "k BIGINT, s STRING, d DECIMAL(20,2), p STRING"
	s := recordOf(t, ddl).Schema()
	keys, err := NewColumns(s, []string{"K", "s", "d", "p"}, []string{"p"})
	must(t, err)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 3))
		files, plain := NewFiles(s, []string{"p"}, keys.Names()), map[action.FileKey]*action.Add{}
		for range 300 {
			if random.IntN(100) == 0 {
				files.Begin()
				clear(plain)
			}
			a := randomFile(random)
			if random.IntN(3) == 0 {
				files.Take(&action.Action{Remove: a.Tombstone(1, true)})
				delete(plain, a.Key())
				continue
			}
			files.Take(&action.Action{Add: a})
			plain[a.Key()] = a
		}
		for range 20 {
			b := NewBatch(Rule{Keys: keys})
			n := random.IntN(60)
			must(t, b.Add(0, recordOf(t, ddl, fmt.Sprintf("%[1]d s%[1]d %[1]d %[2]s", n, []string{"-", "a", "b"}[n%3]))))
			must(t, b.Resolve(t.Context()))
			target := &Target{Schema: s, PartitionBy: []string{"p"}, Batch: b, Alloc: memory.DefaultAllocator}
			sameFiles(t, files.For(target), plain, target.MayHold)
			b.Close()
		}
		sameFiles(t, files.In(func(map[string]*string) bool { return true }), plain, func(*action.Add) bool { return true })
		inA := func(values map[string]*string) bool { return values["p"] != nil && *values["p"] == "a" }
		sameFiles(t, files.In(inA), plain, func(a *action.Add) bool { return inA(a.PartitionValues) })
		if files.Len() != len(plain) || len(files.partition) > 4 {
			t.Fatal(files.Len(), len(plain), files.partition)
		}
	}
}

func randomFile(random *rand.Rand) *action.Add {
	a := &action.Add{Path: fmt.Sprint("f", random.IntN(60)), PartitionValues: map[string]*string{}, Size: random.Int64N(1000), DataChange: true}
	if v := random.IntN(4); v > 0 {
		a.PartitionValues["p"] = []*string{nil, nil, new("a"), new("b")}[v]
	}
	lo := random.IntN(50)
	hi := lo + random.IntN(10)
	a.Stats = []string{
		"", "{}", `{"numRecords":5,"nullCount":{"k":5,"s":5,"d":5}}`,
		fmt.Sprintf(`{"numRecords":%d,"minValues":{"k":%[2]d,"s":"s%[2]d","d":%[2]d},"maxValues":{"k":%[3]d,"s":"s%[3]d","d":%[3]d}}`, random.IntN(9), lo, hi),
		fmt.Sprintf(`{"numRecords":7,"minValues":{"k":%[1]d,"s":"s%[1]d","d":%[1]d},"maxValues":{"k":%[2]d,"s":"s%[2]d","d":%[2]d},"nullCount":{"k":0,"s":0,"d":1}}`, lo, hi),
		fmt.Sprintf(`{"numRecords":7,"minValues":{"k":%d},"maxValues":{"s":"z"}}`, lo),
	}[random.IntN(6)]
	if random.IntN(8) == 0 {
		a.DeletionVector = &action.DeletionVector{Storage: "i", Path: "v", Cardinality: 2}
	}
	if random.IntN(8) == 0 {
		a.BaseRowID = new(int64(lo))
	}
	return a
}

func sameFiles(t *testing.T, got []*action.Add, plain map[action.FileKey]*action.Add, wanted func(*action.Add) bool) {
	t.Helper()
	want := slices.DeleteFunc(slices.Collect(maps.Values(plain)), func(a *action.Add) bool { return !wanted(a) })
	slices.SortFunc(want, func(a, b *action.Add) int { return a.Key().Compare(b.Key()) })
	if len(got) != len(want) {
		t.Fatalf("%d files, should be %d", len(got), len(want))
	}
	for i, a := range got {
		g, err := action.Encode([]action.Action{{Remove: a.Tombstone(1, true)}})
		must(t, err)
		w, err := action.Encode([]action.Action{{Remove: want[i].Tombstone(1, true)}})
		must(t, err)
		if string(g) != string(w) || a.Rows() != want[i].Rows() {
			t.Fatalf("%s with %d rows, should be %s with %d", g, a.Rows(), w, want[i].Rows())
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

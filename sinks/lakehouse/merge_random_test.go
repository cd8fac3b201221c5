package lakehouse

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/maintain"
	"microbatch/table/merge"
	"microbatch/table/translog"
)

// TestRandomBatchesGiveWhatAMapGives: tables of all modes, with random batches of inserts, updates, deletes, duplicates and nulls, among other writers who append, delete
// and join files at any moment, hold the rows of a map that was told the same.
func TestRandomBatchesGiveWhatAMapGives(t *testing.T) {
	for seed := range 20 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { newDuel(t, uint64(seed)).run(12) })
	}
}

// schema is that of the batches: a key of two columns, the order, a value, a partition, and for upserts the operation.
func (d *duel) schema() *arrow.Schema {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "p", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "op", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	if d.merge.OperationColumn == "" {
		return merge.Without(s, "op")
	}
	return s
}

// duelRow is a row; "-" stands for null.
type duelRow struct{ a, b, n, v, p, op string }

func (r duelRow) key() string { return r.a + "|" + r.b }

// stored is what the table has of it.
func (r duelRow) stored() string { return strings.Join([]string{r.a, r.b, r.n, r.v, r.p}, " ") }

// duel is a table and the list of rows that it should hold.
type duel struct {
	t     *testing.T
	rand  *rand.Rand
	alloc *memory.CheckedAllocator
	place place
	merge Merge
	sink  *Sink
	other int
	order int
	rows  []duelRow
}

func newDuel(t *testing.T, seed uint64) *duel {
	d := &duel{t: t, rand: rand.New(rand.NewPCG(seed, 7))}
	d.alloc = memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { d.alloc.AssertSize(t, 0) })
	d.merge = []Merge{
		{Mode: Upsert, Keys: []string{"a", "b"}, OrderBy: []string{"n"}, OperationColumn: "op"},
		{Mode: Upsert, Keys: []string{"A", "b"}, OperationColumn: "op"},
		{DeduplicateBy: []string{"a", "b"}, OrderBy: []string{"n"}},
		{Mode: Overwrite},
		{Mode: OverwritePartitions},
	}[seed%5]
	var by []string
	if d.merge.Mode == OverwritePartitions || d.rand.IntN(2) == 0 {
		by = [][]string{{"p"}, {"b"}, {"p", "b"}}[d.rand.IntN(3)]
	}
	d.place = newPlace([]string{"parquet", "delta"}[d.rand.IntN(2)], by...)
	s, err := New(Config{
		Store: d.place.store, Format: d.place.format, PartitionBy: by, Merge: d.merge, AllowReplacedFiles: true, TempDir: t.TempDir(), Alloc: d.alloc,
		TargetFileBytes: []int64{0, 2000, 20000}[d.rand.IntN(3)], Parallel: 1 + d.rand.IntN(4),
	})
	d.must(err)
	d.sink = s
	d.must(s.Check(t.Context(), d.schema()))
	d.must(s.Recover(t.Context(), sinktest.Query("q", 1), nil))
	return d
}

func (d *duel) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *duel) run(batches int) {
	for id := range batches {
		d.others()
		parts := d.batch()
		want := d.apply(parts)
		d.commit(ident.BatchID(id), parts, want)
		if d.rand.IntN(2) == 0 {
			d.others()
			d.sameList()
		}
		d.compare(fmt.Sprint("after batch ", id))
	}
}

// batch makes rows, by parts. Orders rise, so that no two rows are equal in them, but their places in the batch are random.
func (d *duel) batch() [][]duelRow {
	parts := make([][]duelRow, 1+d.rand.IntN(3))
	size := []int{0, 1, 5, 60, 400}[d.rand.IntN(5)]
	for range size {
		r := d.row()
		i := d.rand.IntN(len(parts))
		parts[i] = append(parts[i], r)
		if d.rand.IntN(20) == 0 {
			i = d.rand.IntN(len(parts))
			parts[i] = append(parts[i], r)
		}
	}
	for _, p := range parts {
		d.rand.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	}
	return parts
}

func (d *duel) row() duelRow {
	d.order++
	keys := []int{8, 200, 100000}[d.rand.IntN(3)]
	r := duelRow{
		a: fmt.Sprint(d.rand.IntN(keys)), b: []string{"x", "y", "''", "-"}[d.rand.IntN(4)], n: fmt.Sprint(d.order), v: strings.Repeat("v", d.rand.IntN(8)) + fmt.Sprint(d.order),
		p: []string{"1", "2", "3", "-"}[d.rand.IntN(4)], op: []string{"c", "u", "d", "-"}[d.rand.IntN(4)],
	}
	if d.rand.IntN(30) == 0 {
		r.a = "-"
	}
	return d.normal(r)
}

// normal is a row as the table has it: an empty string in a partition column is null.
func (d *duel) normal(r duelRow) duelRow {
	if r.b == "''" && slices.Contains(d.place.by, "b") {
		r.b = "-"
	}
	return r
}

// apply is what the table should hold after a batch.
func (d *duel) apply(parts [][]duelRow) []duelRow {
	all := slices.Concat(parts...)
	switch d.merge.Mode {
	case Upsert:
		return d.upserted(d.winners(all, func(r, than int) bool { return r >= than }))
	case Overwrite:
		return all
	case OverwritePartitions:
		partition := func(r duelRow) string {
			key := ""
			for _, by := range d.place.by {
				key += map[string]string{"p": r.p, "b": r.b}[by] + "|"
			}
			return key
		}
		touched := map[string]bool{}
		for _, r := range all {
			touched[partition(r)] = true
		}
		return append(slices.DeleteFunc(slices.Clone(d.rows), func(r duelRow) bool { return touched[partition(r)] }), all...)
	}
	known := map[string]bool{}
	for _, r := range d.rows {
		known[r.key()] = true
	}
	out := slices.Clone(d.rows)
	for key, r := range d.winners(all, func(r, than int) bool { return r < than }) {
		if !known[key] {
			out = append(out, r)
		}
	}
	return out
}

// winners are the rows that count, by key.
func (d *duel) winners(all []duelRow, better func(r, than int) bool) map[string]duelRow {
	out := map[string]duelRow{}
	number := func(r duelRow) (n int) { fmt.Sscan(r.n, &n); return n }
	for _, r := range all {
		was, ok := out[r.key()]
		if !ok || len(d.merge.OrderBy) == 0 || better(number(r), number(was)) {
			out[r.key()] = r
		}
	}
	return out
}

func (d *duel) upserted(winners map[string]duelRow) (out []duelRow) {
	for _, r := range d.rows {
		if _, ok := winners[r.key()]; !ok {
			out = append(out, r)
		}
	}
	for _, r := range winners {
		if r.op != "d" {
			out = append(out, r)
		}
	}
	return out
}

// commit prepares a batch and commits it, again and again if another writer comes in between, as the engine does.
func (d *duel) commit(id ident.BatchID, parts [][]duelRow, want []duelRow) {
	for try := range 4 {
		b := sinktest.Batch(id, "a", d.alloc)
		b.Schema = d.schema()
		for _, rows := range parts {
			b.Parts = append(b.Parts, d.part(rows))
		}
		p, err := d.sink.Prepare(d.t.Context(), b)
		d.must(err)
		d.count(p.Staged(), parts)
		if try < 3 && d.rand.IntN(2) == 0 {
			d.others()
			want = d.apply(parts)    // before the commit: the batch comes behind it, or is prepared again
			if d.rand.IntN(2) == 0 { // as by upkeep
				_, err := d.sink.Table().Refresh(d.t.Context())
				d.must(err)
			}
		}
		r, err := d.sink.Commit(d.t.Context(), p)
		d.must(err)
		if r.Outcome == sinks.Committed {
			d.rows = want
			return
		}
		if r.Outcome != sinks.Conflict {
			d.t.Fatal(r.Outcome, r.Why)
		}
		d.must(d.sink.Abort(d.t.Context(), p))
	}
	d.t.Fatal("a conflict without another writer")
}

// count holds what is staged against what the map was told.
func (d *duel) count(st sinks.Staged, parts [][]duelRow) {
	d.t.Helper()
	all := slices.Concat(parts...)
	if st.Rows+st.Dropped != int64(len(all)) {
		d.t.Fatalf("%d rows and %d dropped of %d", st.Rows, st.Dropped, len(all))
	}
	known := map[string]bool{}
	for _, r := range d.rows {
		known[r.key()] = true
	}
	var want sinks.Changes
	switch {
	case !d.merge.keyed():
		if st.Changes != nil {
			d.t.Fatalf("%+v without keys", *st.Changes)
		}
		return
	case d.merge.Mode == Upsert:
		for key, r := range d.winners(all, func(r, than int) bool { return r >= than }) {
			switch deletes := r.op == "d"; {
			case deletes && known[key]:
				want.Deleted++
			case deletes:
				want.Unchanged++
			case known[key]:
				want.Updated++
			default:
				want.Inserted++
			}
		}
	default:
		for key := range d.winners(all, func(r, than int) bool { return r < than }) {
			if !known[key] {
				want.Inserted++
			}
		}
	}
	if st.Changes == nil || *st.Changes != want || want.Sum() != st.Rows {
		d.t.Fatalf("%d rows do %+v, and should %+v", st.Rows, st.Changes, want)
	}
}

// part yields rows in chunks of random length.
func (d *duel) part(rows []duelRow) batch.Part {
	var cuts []int
	for at := 0; at < len(rows); {
		at = min(len(rows), at+1+d.rand.IntN(100))
		cuts = append(cuts, at)
	}
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			from := 0
			for _, to := range cuts {
				if !yield(batch.Chunk{Record: d.record(d.schema(), rows[from:to])}, nil) {
					return
				}
				from = to
			}
		}
	})
}

func (d *duel) record(s *arrow.Schema, rows []duelRow) arrow.RecordBatch {
	b := array.NewRecordBuilder(d.alloc, s)
	defer b.Release()
	for _, r := range rows {
		for i, word := range []string{r.a, r.b, r.n, r.v, r.p, r.op}[:s.NumFields()] {
			switch word {
			case "-":
				b.Field(i).AppendNull()
			case "''":
				b.Field(i).(*array.StringBuilder).Append("")
			default:
				d.must(b.Field(i).AppendValueFromString(word))
			}
		}
	}
	return b.NewRecordBatch()
}

// others lets another writer do something, or nothing.
func (d *duel) others() {
	tbl, err := table.Open(d.t.Context(), d.place.store, table.Options{})
	d.must(err)
	switch d.rand.IntN(7) {
	case 0:
		_, err := tbl.Optimize(d.t.Context(), maintain.OptimizeOptions{Force: true, TargetBytes: 3000, Alloc: d.alloc})
		d.must(err)
	case 1:
		d.foreignDelete(tbl)
	case 2:
		d.foreignAppend(tbl)
	case 3:
		_, err := tbl.Log().WriteCheckpoint(d.t.Context(), tbl.Snapshot().State())
		d.must(err)
	}
}

// foreignAppend adds rows with keys that the table may have already: of those it may then have several.
func (d *duel) foreignAppend(tbl *table.Table) {
	var rows []duelRow
	for range 1 + d.rand.IntN(4) {
		r := d.row()
		rows = append(rows, r)
	}
	s := tbl.Snapshot().Schema()
	d.other++
	stage := datafile.NewStage(d.place.store, datafile.Spec{
		Name:   datafile.Name{Prefix: "part", Owner: "other", Batch: ident.BatchID(d.other), Attempt: ident.NewAttempt()},
		Schema: s, PartitionBy: tbl.Snapshot().PartitionBy(), Alloc: d.alloc,
	})
	rec := d.record(s, rows)
	defer rec.Release()
	d.must(stage.Write(d.t.Context(), rec))
	adds, err := stage.Finish(d.t.Context())
	d.must(err)
	c := translog.Change{Info: action.CommitInfo{Operation: "WRITE"}}
	for _, a := range adds {
		if d.rand.IntN(3) == 0 {
			a.Stats = "" // a writer without statistics
		}
		c.Actions = append(c.Actions, action.Action{Add: a})
	}
	_, err = tbl.Commit(d.t.Context(), tbl.Snapshot(), c)
	d.must(err)
	d.rows = append(d.rows, rows...)
}

// foreignDelete takes one file out of the table.
func (d *duel) foreignDelete(tbl *table.Table) {
	files, err := tbl.Snapshot().Files(d.t.Context())
	d.must(err)
	if len(files) == 0 {
		return
	}
	gone := files[d.rand.IntN(len(files))]
	for text := range d.read(tbl, gone) {
		i := slices.IndexFunc(d.rows, func(r duelRow) bool { return r.stored() == text })
		if i < 0 {
			d.t.Fatalf("the table has a row that it should not have: %s", text)
		}
		d.rows = slices.Delete(d.rows, i, i+1)
	}
	c := translog.Change{Info: action.CommitInfo{Operation: "DELETE"}, Actions: []action.Action{{Remove: gone.Tombstone(time.Now().UnixMilli(), true)}}}
	_, err = tbl.Commit(d.t.Context(), tbl.Snapshot(), c)
	d.must(err)
}

// read yields the rows of a file.
func (d *duel) read(tbl *table.Table, add *action.Add) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		snap := tbl.Snapshot()
		r := datafile.Reader{Store: d.place.store, Schema: snap.Schema(), PartitionBy: snap.PartitionBy(), Alloc: d.alloc}
		for rec, err := range r.Read(d.t.Context(), add) {
			d.must(err)
			for row := range int(rec.NumRows()) {
				if !yield(rowText(rec, row)) {
					break
				}
			}
			rec.Release()
		}
	}
}

// compare holds the table against the list.
func (d *duel) compare(when string) {
	d.t.Helper()
	tbl, err := table.Open(d.t.Context(), d.place.store, table.Options{})
	d.must(err)
	files, err := tbl.Snapshot().Files(d.t.Context())
	d.must(err)
	diff := map[string]int{}
	for _, a := range files {
		for text := range d.read(tbl, a) {
			diff[text]++
		}
	}
	for _, r := range d.rows {
		diff[r.stored()]--
	}
	for _, text := range slices.Sorted(maps.Keys(diff)) {
		if n := diff[text]; n != 0 {
			d.t.Errorf("%s, %+v: row %q: %+d", when, d.merge, text, n)
		}
	}
	if d.t.Failed() {
		d.t.FailNow()
	}
	d.noOrphans(tbl, files)
}

// sameList holds the sink's kept list of files against a fresh reading of the log: it has the same files, and would have batches look at the same ones.
func (d *duel) sameList() {
	d.t.Helper()
	tbl := d.sink.Table()
	snap, err := tbl.Refresh(d.t.Context())
	d.must(err)
	kept, err := d.sink.live.to(d.t.Context(), tbl, snap, merge.Without(d.schema(), "op"), d.merge.keys())
	d.must(err)
	fresh := merge.NewFiles(merge.Without(d.schema(), "op"), snap.PartitionBy(), d.merge.keys())
	d.must(tbl.Log().Follow(d.t.Context(), nil, snap.State(), fresh))
	all := func(map[string]*string) bool { return true }
	if got, want := kept.In(all), fresh.In(all); !reflect.DeepEqual(got, want) {
		d.t.Fatalf("%d files are kept, and there are %d", len(got), len(want))
	}
	rule, err := d.merge.rule(d.schema(), snap.PartitionBy(), "")
	d.must(err)
	if !d.merge.keyed() {
		return
	}
	for range 5 {
		b := merge.NewBatch(rule)
		rec := d.record(d.schema(), []duelRow{d.row()})
		d.must(b.Add(0, rec))
		rec.Release()
		d.must(b.Resolve(d.t.Context()))
		target := &merge.Target{Schema: merge.Without(d.schema(), "op"), PartitionBy: snap.PartitionBy(), Batch: b, Alloc: d.alloc}
		if got, want := kept.For(target), fresh.For(target); !reflect.DeepEqual(got, want) {
			d.t.Fatalf("%d files are looked at, and should be %d", len(got), len(want))
		}
		b.Close()
	}
}

// noOrphans: an attempt that met a conflict has left nothing, and no file that the log names is missing.
func (d *duel) noOrphans(tbl *table.Table, files []*action.Add) {
	d.t.Helper()
	all, err := tbl.Log().Files(d.t.Context(), translog.Latest)
	d.must(err)
	named := map[string]bool{}
	for key := range all.Live {
		named[d.key(key.Path)] = true
	}
	for key := range all.Removed {
		named[d.key(key.Path)] = true
	}
	for info, err := range d.place.store.List(d.t.Context(), "", "") {
		d.must(err)
		if strings.HasSuffix(info.Key, ".parquet") && !strings.HasPrefix(info.Key, "_") && !named[info.Key] {
			d.t.Errorf("%s is left over", info.Key)
		}
	}
	for _, a := range files {
		_, err := d.place.store.Stat(d.t.Context(), d.key(a.Path))
		d.must(err)
	}
}

func (d *duel) key(path string) string {
	key, err := action.DecodePath(path)
	d.must(err)
	return key
}

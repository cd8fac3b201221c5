package merge

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/table/action"
)

// Files are the live files of a table, as far as batches must know them: for each its name, its partition, and between which values its keys lie. They are brought from
// version to version (translog.Log.Follow), so that no batch reads the whole list from the log: of 100,000 files that took 1.0 to 2.6 s and 300 to 470 MB of garbage,
// and a batch of 1,000 keys now takes 20 ms (BenchmarkUpsertManyFiles). They take about 220 bytes of memory a file, long texts as keys more. They are used by one
// goroutine at a time.
type Files struct {
	schema      *arrow.Schema
	partitionBy []string
	keys        []arrow.Field // whose bounds are kept

	numbers    map[action.FileKey]int32 // of the live files, in the columns below
	free       []int32                  // numbers of files that are gone
	names      []action.FileKey
	sizes      []int64
	rows       []int64 // that the statistics promise; -1: they do not
	partitions []int32 // numbers
	bounds     []boundsColumn
	special    map[int32]*action.Add // files with deletion vectors or row ids, with those alone

	partition   map[string]int32 // numbers, by action.PartitionKey
	values      []map[string]*string
	inPartition []int32 // files
	freeValues  []int32 // numbers of partitions without files
}

// NewFiles is a list for batches with keys (none: where batches take the place of partitions) of a table with a schema. It is empty.
func NewFiles(schema *arrow.Schema, partitionBy, keys []string) *Files {
	f := &Files{schema: schema, partitionBy: partitionBy}
	for _, name := range keys {
		f.keys = append(f.keys, fieldOf(schema, name))
	}
	f.Begin()
	return f
}

// Suits reports whether the list is one for a schema and partition columns: what it keeps of a file depends on both.
func (f *Files) Suits(schema *arrow.Schema, partitionBy []string) bool {
	return slices.Equal(f.partitionBy, partitionBy) && !slices.ContainsFunc(f.keys, func(k arrow.Field) bool {
		return !slices.ContainsFunc(schema.Fields(), func(other arrow.Field) bool { return other.Name == k.Name && arrow.TypeEqual(other.Type, k.Type) })
	})
}

// Begin forgets all files.
func (f *Files) Begin() {
	*f = Files{
		schema: f.schema, partitionBy: f.partitionBy, keys: f.keys, bounds: make([]boundsColumn, len(f.keys)),
		numbers: map[action.FileKey]int32{}, special: map[int32]*action.Add{}, partition: map[string]int32{},
	}
}

// Len is how many files are live.
func (f *Files) Len() int { return len(f.numbers) }

// Take lets an add or a remove replace what had its key.
func (f *Files) Take(a *action.Action) {
	switch {
	case a.Add != nil:
		f.add(a.Add)
	case a.Remove != nil:
		f.remove(a.Remove.Key())
	}
}

func (f *Files) add(a *action.Add) {
	key := a.Key()
	n, known := f.numbers[key]
	if known { // the newer line counts
		f.leave(f.partitions[n])
	} else {
		key = action.FileKey{Path: strings.Clone(key.Path), DV: strings.Clone(key.DV)}
		n = f.number()
		f.numbers[key], f.names[n] = n, key
	}
	f.sizes[n], f.partitions[n] = a.Size, f.partitionOf(a.PartitionValues)
	f.inPartition[f.partitions[n]]++
	s := statisticsOf(a)
	f.rows[n] = -1
	if s.Rows != nil {
		f.rows[n] = *s.Rows
	}
	for i, k := range f.keys {
		f.bounds[i].set(n, boundsOf(a, &s, k, isAmong(f.partitionBy, k.Name)))
	}
	delete(f.special, n)
	if a.DeletionVector != nil || a.BaseRowID != nil || a.RowCommitVersion != nil {
		f.special[n] = &action.Add{DeletionVector: a.DeletionVector, BaseRowID: a.BaseRowID, RowCommitVersion: a.RowCommitVersion}
	}
}

func (f *Files) remove(key action.FileKey) {
	n, ok := f.numbers[key]
	if !ok {
		return
	}
	delete(f.numbers, key)
	delete(f.special, n)
	f.leave(f.partitions[n])
	f.names[n] = action.FileKey{}
	for i := range f.bounds {
		f.bounds[i].set(n, bounds{})
	}
	f.free = append(f.free, n)
}

// number is a place in the columns for a file.
func (f *Files) number() int32 {
	if last := len(f.free) - 1; last >= 0 {
		n := f.free[last]
		f.free = f.free[:last]
		return n
	}
	f.names, f.sizes, f.rows, f.partitions = append(f.names, action.FileKey{}), append(f.sizes, 0), append(f.rows, 0), append(f.partitions, 0)
	for i := range f.bounds {
		f.bounds[i].extend()
	}
	return int32(len(f.names) - 1)
}

// partitionOf is the number of the partition with some values.
func (f *Files) partitionOf(values map[string]*string) int32 {
	key := action.PartitionKey(values)
	n, ok := f.partition[key]
	if ok {
		return n
	}
	copied := make(map[string]*string, len(values))
	for name, v := range values {
		if v != nil {
			v = new(strings.Clone(*v))
		}
		copied[strings.Clone(name)] = v
	}
	if last := len(f.freeValues) - 1; last >= 0 {
		n = f.freeValues[last]
		f.freeValues = f.freeValues[:last]
		f.values[n] = copied
	} else {
		n = int32(len(f.values))
		f.values, f.inPartition = append(f.values, copied), append(f.inPartition, 0)
	}
	f.partition[key] = n
	return n
}

// leave is for a file that goes out of a partition.
func (f *Files) leave(n int32) {
	if f.inPartition[n]--; f.inPartition[n] == 0 {
		delete(f.partition, action.PartitionKey(f.values[n]))
		f.values[n] = nil
		f.freeValues = append(f.freeValues, n)
	}
}

// In are the files of those partitions whose values a function admits, which is asked once for each, in order of their paths.
func (f *Files) In(admits func(values map[string]*string) bool) []*action.Add {
	in := make([]bool, len(f.values))
	for n, values := range f.values {
		in[n] = f.inPartition[n] > 0 && admits(values)
	}
	return f.some(func(n int32) bool { return in[f.partitions[n]] })
}

// For are the files that may hold keys of the target's batch (Target.MayHold), in order of their paths.
func (f *Files) For(t *Target) []*action.Add {
	return f.some(func(n int32) bool {
		for i := range f.keys {
			if !t.Batch.values[i].mayBe(f.bounds[i].get(n)) {
				return false
			}
		}
		return true
	})
}

func (f *Files) some(which func(n int32) bool) (adds []*action.Add) {
	for n, name := range f.names {
		if name.Path != "" && which(int32(n)) {
			adds = append(adds, f.file(int32(n)))
		}
	}
	slices.SortFunc(adds, func(a, b *action.Add) int { return a.Key().Compare(b.Key()) })
	return adds
}

// file is what the log says of a file, without what a commit that removes it does not need: of the statistics only the number of rows.
func (f *Files) file(n int32) *action.Add {
	a := &action.Add{Path: f.names[n].Path, PartitionValues: f.values[f.partitions[n]], Size: f.sizes[n], DataChange: true}
	if f.rows[n] >= 0 {
		a.Stats = `{"numRecords":` + strconv.FormatInt(f.rows[n], 10) + `}`
	}
	if more := f.special[n]; more != nil {
		a.DeletionVector, a.BaseRowID, a.RowCommitVersion = more.DeletionVector, more.BaseRowID, more.RowCommitVersion
	}
	return a
}

// boundsColumn has the bounds of one key column, by the numbers of files.
type boundsColumn struct {
	facts  []uint8
	lo, hi []uint64 // of values that take eight bytes; else lo is the length of the minimum
	texts  [][]byte // minimum and maximum of all other values; nil until there are any
	buffer [18]byte // of get
}

// The facts of bounds.
const (
	provenNoNulls uint8 = 1 << iota
	provenNulls
	haveNumbers // lo and hi are known, as numbers
	haveTexts   // they are known, and no numbers
)

func (c *boundsColumn) extend() {
	c.facts, c.lo, c.hi = append(c.facts, 0), append(c.lo, 0), append(c.hi, 0)
}

func (c *boundsColumn) set(n int32, b bounds) {
	var facts uint8
	if b.noNulls {
		facts |= provenNoNulls
	}
	if b.nulls {
		facts |= provenNulls
	}
	if int(n) < len(c.texts) {
		c.texts[n] = nil
	}
	switch {
	case b.lo == nil || b.hi == nil: // one alone proves nothing
	case len(b.lo) == 9 && len(b.hi) == 9:
		facts |= haveNumbers
		c.lo[n], c.hi[n] = binary.BigEndian.Uint64(b.lo[1:]), binary.BigEndian.Uint64(b.hi[1:])
	default:
		facts |= haveTexts
		c.lo[n] = uint64(len(b.lo))
		if int(n) >= len(c.texts) {
			c.texts = append(c.texts, make([][]byte, len(c.facts)-len(c.texts))...)
		}
		c.texts[n] = slices.Concat(b.lo, b.hi)
	}
	c.facts[n] = facts
}

// get is valid until the next call.
func (c *boundsColumn) get(n int32) bounds {
	facts := c.facts[n]
	b := bounds{noNulls: facts&provenNoNulls != 0, nulls: facts&provenNulls != 0}
	switch {
	case facts&haveNumbers != 0:
		c.buffer[0], c.buffer[9] = 1, 1
		binary.BigEndian.PutUint64(c.buffer[1:], c.lo[n])
		binary.BigEndian.PutUint64(c.buffer[10:], c.hi[n])
		b.lo, b.hi = c.buffer[:9], c.buffer[9:]
	case facts&haveTexts != 0:
		b.lo, b.hi = c.texts[n][:c.lo[n]], c.texts[n][c.lo[n]:]
	}
	return b
}

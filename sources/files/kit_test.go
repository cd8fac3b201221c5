package files

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

// rig is an input directory and the source's part of a checkpoint.
type rig struct {
	t       *testing.T
	dir     string
	own     objstore.Store
	config  Config
	notices []string
	format  lines
	clock   time.Time // modification time of the next file
}

func newRig(t *testing.T) *rig {
	dir := t.TempDir()
	store, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	r := &rig{t: t, dir: dir, own: mem.New(), format: newLines(), clock: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	r.config = Config{Store: store, Root: RootURI(dir), Format: r.format, Schema: linesSchema(), Alloc: alloc, Notice: func(s string) { r.notices = append(r.notices, s) }}
	t.Cleanup(func() {
		alloc.AssertSize(t, 0)
		if n := r.format.decoding.Load(); n != 0 {
			t.Errorf("%d streams were not ended", n)
		}
	})
	return r
}

// write makes a file of n lines, a second younger than the one before.
func (r *rig) write(key string, n int) {
	r.t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s:%d\n", key, i)
	}
	r.writeText(key, b.String())
}

func (r *rig) writeText(key, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, key)
	r.clock = r.clock.Add(time.Second)
	must0(r.t, os.MkdirAll(filepath.Dir(path), 0o777))
	must0(r.t, os.WriteFile(path, []byte(text), 0o666))
	must0(r.t, os.Chtimes(path, r.clock, r.clock))
}

// start opens a new source on the checkpoint, as a new process would.
func (r *rig) start() *Source {
	r.t.Helper()
	s := r.open()
	must0(r.t, s.Pin(r.t.Context()))
	return s
}

func (r *rig) open() *Source {
	r.t.Helper()
	s, err := New(r.config)
	must0(r.t, err)
	must0(r.t, s.Open(r.t.Context(), r.own))
	return s
}

// openOn opens a new source on another checkpoint.
func (r *rig) openOn(own objstore.Store) error {
	s, err := New(r.config)
	must0(r.t, err)
	return s.Open(r.t.Context(), own)
}

func (r *rig) plan(s *Source, from ident.Offset, limit sources.Limit) ident.Offset {
	r.t.Helper()
	p, err := s.Plan(r.t.Context(), from, limit)
	must0(r.t, err)
	return p.To
}

// read reads a range by want splits at once, checks what they covered, and returns the lines, sorted.
func (r *rig) read(s *Source, from, to ident.Offset, want int) []string {
	r.t.Helper()
	rows, err := r.tryRead(s, from, to, want)
	must0(r.t, err)
	return rows
}

func (r *rig) tryRead(s *Source, from, to ident.Offset, want int) ([]string, error) {
	splits, err := s.Splits(r.t.Context(), from, to, nil, want)
	if err != nil {
		return nil, err
	}
	rows := make([][]string, len(splits))
	errs := make([]error, len(splits))
	var wg sync.WaitGroup
	for i, split := range splits {
		wg.Go(func() { rows[i], errs[i] = drain(split) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	r.checkCovered(splits, len(slices.Concat(rows...)))
	return slices.Sorted(slices.Values(slices.Concat(rows...))), nil
}

func (r *rig) checkCovered(splits []sources.Split, rows int) {
	r.t.Helper()
	want, covered, seen := map[string]int64{}, map[string]int64{}, int64(0)
	for _, split := range splits {
		p := split.Reached()
		seen += p.Rows
		for _, u := range p.Units {
			want[u.Name] = u.Want
			covered[u.Name] += u.Covered
		}
	}
	if !maps.Equal(want, covered) {
		r.t.Errorf("covered %v of %v", covered, want)
	}
	if seen != int64(rows) {
		r.t.Errorf("%d rows seen, %d yielded or rejected", seen, rows)
	}
}

func drain(split sources.Split) (rows []string, err error) {
	for chunk, err := range split.Records(context.Background()) {
		if err != nil {
			return nil, err
		}
		column := chunk.Record.Column(0).(*array.String)
		for i := range column.Len() {
			rows = append(rows, strings.Clone(column.Value(i)))
		}
		for _, x := range chunk.Rejected {
			rows = append(rows, "rejected "+x.Position[strings.LastIndexByte(x.Position, '/')+1:])
		}
		chunk.Release()
	}
	return rows, nil
}

// all plans and reads until there is nothing new, and returns the lines and how many batches there were.
func (r *rig) all(s *Source, from ident.Offset, limit sources.Limit) (rows []string, to ident.Offset, batches int) {
	r.t.Helper()
	for {
		to := r.plan(s, from, limit)
		if to == from {
			slices.Sort(rows)
			return rows, to, batches
		}
		rows = append(rows, r.read(s, from, to, 3)...)
		must0(r.t, s.Release(r.t.Context(), to))
		from = to
		batches++
	}
}

// linesOf are the lines that write has put into files of n lines.
func linesOf(n int, keys ...string) (rows []string) {
	for _, key := range keys {
		for i := range n {
			rows = append(rows, fmt.Sprintf("%s:%d", key, i))
		}
	}
	slices.Sort(rows)
	return rows
}

func must0(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

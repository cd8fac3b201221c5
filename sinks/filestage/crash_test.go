//go:build failpoints

package filestage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// points are where a process may die in a batch, and whether the batch is visible then.
var points = []struct {
	name    string
	visible bool
}{
	{"filestage.claimed", false},
	{"filestage.ground-taken", false},
	{"filestage.staged", false},
	{"filestage.before-rename", false},
	{"filestage.renamed", true},
}

func harness(t *testing.T, dir string) sinktest.Harness {
	return sinktest.Harness{Open: func(t *testing.T) sinks.Sink {
		s, err := New(config(dir))
		must(t, err)
		return s
	}}
}

// dies runs a driver's life until a point is passed for the nth time, where it ends as by SIGKILL: nothing after the point happens.
func dies(t *testing.T, point string, life func()) {
	t.Helper()
	died := errors.New("died")
	defer failpoint.Set(point, func(int) error { panic(died) })()
	defer func() {
		if r := recover(); r != died { //nolint:errorlint // it is the very value
			t.Fatalf("it did not die at %s: %v", point, r)
		}
	}()
	life()
}

// TestDeathAtEachPoint: after a death at any point the next process makes the rows exact, and so does the one after a second death at the same point.
func TestDeathAtEachPoint(t *testing.T) {
	for _, p := range points {
		for deaths := 1; deaths <= 3; deaths++ {
			dir := t.TempDir()
			h := harness(t, dir)
			sinktest.Start(t, h, sinktest.Query("q", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1, 2}, []int64{3})
			for n := range deaths {
				if p.visible && n > 0 {
					break // nothing is renamed a second time
				}
				dies(t, p.name, func() {
					sinktest.Start(t, h, sinktest.Query("q", 2), nil).Commit(sinks.Committed, 1, "a", []int64{4}, []int64{5, 6})
				})
			}
			before := ids(t, dir)
			d := sinktest.Start(t, h, sinktest.Query("q", 3), nil)
			want := sinks.Committed
			if p.visible {
				want = sinks.AlreadyCommitted
			}
			if visible := d.Visible().Batch == 1; visible != p.visible || visible != (len(before) == 6) {
				t.Errorf("%s: batch 1 is visible: %v; rows %v", p.name, visible, before)
			}
			d.Commit(want, 1, "a", []int64{4}, []int64{5, 6})
			d.Commit(sinks.Committed, 2, "a", []int64{7})
			got := ids(t, dir)
			if slices.Sort(got); !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7}) {
				t.Errorf("%s: %v", p.name, got)
			}
			left, err := d.Sink.(*Sink).disk.names(layoutOf("q", sinktest.Query("q", 3).Shard).staging())
			must(t, err)
			if !slices.Equal(left, []string{"3"}) {
				t.Errorf("%s: left of older epochs: %v", p.name, left)
			}
		}
	}
}

// TestTwoClaimsAtOnce: whichever of two drivers is overtaken, at any point of its claim, the older one can make nothing visible afterwards.
func TestTwoClaimsAtOnce(t *testing.T) {
	for _, point := range []string{"filestage.claimed", "filestage.ground-taken"} {
		dir := t.TempDir()
		h := harness(t, dir)
		old := h.Open(t)
		must(t, old.Check(t.Context(), sinktest.Schema()))
		var newer *sinktest.Driver
		overtaken := false
		remove := failpoint.Set(point, func(int) error {
			if !overtaken {
				overtaken = true
				newer = sinktest.Start(t, h, sinktest.Query("q", 2), nil)
			}
			return nil
		})
		err := old.Recover(t.Context(), sinktest.Query("q", 1), nil)
		remove()
		newer.Commit(sinks.Committed, 0, "new", []int64{1})
		if err == nil {
			_, err = old.Prepare(t.Context(), sinktest.Batch(0, "old", newer.Alloc, []int64{2}))
		}
		if !errcode.Has(err, errcode.DriverFenced) {
			t.Errorf("%s: the older driver: %v", point, err)
		}
		if got := ids(t, dir); !slices.Equal(got, []int64{1}) {
			t.Errorf("%s: %v", point, got)
		}
	}
}

// A driver that is overtaken in the middle of its start, with a batch to enter into the ledger, hears of it, and not of a folder that is missing.
func TestADriverThatIsOvertakenWhileItStarts(t *testing.T) {
	for _, point := range []string{"filestage.claimed", "filestage.ground-taken"} {
		dir := t.TempDir()
		h := harness(t, dir)
		sinktest.Start(t, h, sinktest.Query("q", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1})
		old := h.Open(t)
		must(t, old.Check(t.Context(), sinktest.Schema()))
		overtaken := false
		remove := failpoint.Set(point, func(int) error {
			if !overtaken {
				overtaken = true
				sinktest.Start(t, h, sinktest.Query("q", 3), nil).Commit(sinks.Committed, 1, "a", []int64{2})
			}
			return nil
		})
		err := old.Recover(t.Context(), sinktest.Query("q", 2), nil)
		remove()
		if !errcode.Has(err, errcode.DriverFenced) {
			t.Errorf("%s: %v", point, err)
		}
		if got := ids(t, dir); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("%s: %v", point, got)
		}
	}
}

// TestAZombieMeetsNoHalfDeletedFolder: a driver that is about to rename, while its successor deletes what it staged, makes nothing visible.
func TestAZombieMeetsNoHalfDeletedFolder(t *testing.T) {
	dir := t.TempDir()
	h := harness(t, dir)
	old := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	staged := old.Prepare(0, "a", []int64{1}, []int64{2})
	remove := failpoint.Set("filestage.ground-taken", func(int) error { // its successor has taken the ground and has deleted no file yet
		old.Finish(sinks.Fenced, staged)
		return nil
	})
	next := sinktest.Start(t, h, sinktest.Query("q", 2), nil)
	remove()
	if got := ids(t, dir); len(got) > 0 {
		t.Error(got)
	}
	next.Commit(sinks.Committed, 0, "a", []int64{1}, []int64{2})
}

// A zombie that finds its ground taken while it stages hears that it was overtaken, not that there is nothing in its batch.
func TestAZombieThatWasOvertakenWhileItStaged(t *testing.T) {
	dir := t.TempDir()
	old := sinktest.Start(t, harness(t, dir), sinktest.Query("q", 1), nil)
	b := sinktest.Batch(0, "a", old.Alloc, []int64{1})
	read := b.Parts[0]
	b.Parts[0] = batch.PartFunc(func(ctx context.Context) batch.Stream {
		sinktest.Start(t, harness(t, dir), sinktest.Query("q", 2), nil).Commit(sinks.Committed, 0, "a", []int64{1})
		return read.Chunks(ctx)
	})
	if p, err := old.Sink.Prepare(t.Context(), b); !errcode.Has(err, errcode.DriverFenced) {
		t.Errorf("prepare: %v, %v", p, err)
	}
	if got := ids(t, dir); !slices.Equal(got, []int64{1}) {
		t.Error(got)
	}
}

// TestALedgerLearnsWhatACrashHasLeftOut: the process dies between the rename of a batch and its record in the ledger. The next one makes up for it, and only then may a
// reader delete the folder: the batch is not made again.
func TestALedgerLearnsWhatACrashHasLeftOut(t *testing.T) {
	dir := t.TempDir()
	h := harness(t, dir)
	dies(t, "filestage.renamed", func() {
		sinktest.Start(t, h, sinktest.Query("q", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1, 2})
	})
	d := sinktest.Start(t, h, sinktest.Query("q", 2), nil)
	must(t, os.RemoveAll(filepath.Join(dir, d.Sink.(*Sink).at.batch(0))))
	if v := d.Visible(); v.Batch != 0 {
		t.Errorf("a batch that was there and has been read is forgotten: %v", v.Batch)
	}
	sinktest.Start(t, h, sinktest.Query("q", 3), nil).Commit(sinks.AlreadyCommitted, 0, "a", []int64{1, 2})
	if got := ids(t, dir); len(got) > 0 {
		t.Errorf("rows that a reader has taken are there again: %v", got)
	}
}

// TestReadersMayDeleteWhatTheyHaveRead: a batch whose folder is gone is not made again, since the ledger has its record.
func TestReadersMayDeleteWhatTheyHaveRead(t *testing.T) {
	dir := t.TempDir()
	h := harness(t, dir)
	d := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	for id := range 3 {
		d.Commit(sinks.Committed, ident.BatchID(id), "a", []int64{int64(id)})
		must(t, os.RemoveAll(filepath.Join(dir, d.Sink.(*Sink).at.batch(ident.BatchID(id)))))
	}
	next := sinktest.Start(t, h, sinktest.Query("q", 2), nil)
	if v := next.Visible(); v.Batch != 2 || !v.HasDigest {
		t.Errorf("%+v", v)
	}
	next.Commit(sinks.AlreadyCommitted, 2, "a", []int64{2}) // as with transforms that must see the rows again
	if got := ids(t, dir); len(got) > 0 {
		t.Error(got)
	}
}

// TestTwoStartsTakeTheSameGround: of two drivers that start at once, both take what a dead one left. The newer one starts, whoever comes first.
func TestTwoStartsTakeTheSameGround(t *testing.T) {
	for step := range 40 {
		dir := t.TempDir()
		sinktest.Start(t, harness(t, dir), sinktest.Query("q", 1), nil).Prepare(0, "a", []int64{1})
		disk, err := localfs.OS(dir)
		must(t, err)
		c := config(dir)
		c.FS = &between{FS: disk, left: step, act: func() {
			other, err := New(config(dir))
			must(t, err)
			if err := other.Recover(t.Context(), sinktest.Query("q", 2), nil); err != nil && !errcode.Has(err, errcode.DriverFenced) {
				t.Errorf("step %d: the older one: %v", step, err)
			}
		}}
		newer, err := New(c)
		must(t, err)
		if err := newer.Recover(t.Context(), sinktest.Query("q", 3), nil); err != nil {
			t.Errorf("step %d: the newer one: %v", step, err)
		}
	}
}

// between does something before one of the changes of a file system.
type between struct {
	localfs.FS
	left int
	act  func()
}

func (b *between) step() {
	if b.left--; b.left == -1 {
		b.act()
	}
}

func (b *between) Create(name string, mode fs.FileMode) (localfs.File, error) {
	b.step()
	return b.FS.Create(name, mode)
}

func (b *between) Rename(from, to string) error {
	b.step()
	return b.FS.Rename(from, to)
}

func (b *between) Remove(name string) error {
	b.step()
	return b.FS.Remove(name)
}

func (b *between) Mkdir(name string, mode fs.FileMode) error {
	b.step()
	return b.FS.Mkdir(name, mode)
}

// TestAZombieThatWasOvertakenAfterItsRename: its batch counts, its successor has entered it, and it stops.
func TestAZombieThatWasOvertakenAfterItsRename(t *testing.T) {
	dir := t.TempDir()
	h := harness(t, dir)
	old := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	staged := old.Prepare(0, "a", []int64{1})
	var next *sinktest.Driver
	remove := failpoint.Set("filestage.renamed", func(int) error {
		next = sinktest.Start(t, h, sinktest.Query("q", 2), nil)
		return nil
	})
	old.Finish(sinks.Fenced, staged)
	remove()
	if v := next.Visible(); v.Batch != 0 || v.Epoch != 2 {
		t.Errorf("%+v", v)
	}
	next.Commit(sinks.Committed, 1, "b", []int64{2})
	if got := ids(t, dir); !slices.Equal(got, []int64{1, 2}) {
		t.Error(got)
	}
}

// TestADamagedRecordStopsTheStart: it is named, and nothing is written.
func TestADamagedRecordStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	h := harness(t, dir)
	d := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	at := d.Sink.(*Sink).at
	must(t, os.RemoveAll(filepath.Join(dir, at.ledger())))
	for _, text := range []string{"", "{", `{"batch":7}`, `{"batch":0,"digest":"xyz"}`} {
		must(t, os.WriteFile(filepath.Join(dir, at.record(0)), []byte(text), 0o600))
		_, err := h.Open(t).Visible(t.Context(), sinktest.Query("q", 2))
		if !errcode.Has(err, errcode.FileStageDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

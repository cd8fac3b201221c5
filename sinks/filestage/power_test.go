package filestage

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// onDisk is a harness on a disk that can lose power.
func onDisk(f localfs.FS) sinktest.Harness {
	return sinktest.Harness{Open: func(t *testing.T) sinks.Sink {
		c := config("")
		c.FS = f
		s, err := New(c)
		must(t, err)
		return s
	}}
}

// visibleRows are the numbers in the visible files.
func visibleRows(t *testing.T, f localfs.FS) (out []int64) {
	t.Helper()
	d := disk{f}
	folders, err := d.names(".")
	must(t, err)
	for _, folder := range folders {
		if !strings.HasPrefix(folder, "batch-") {
			continue
		}
		files, err := d.names(folder)
		must(t, err)
		for _, name := range files {
			if !strings.HasSuffix(name, ".ndjson") {
				continue
			}
			file, err := f.Open(folder + "/" + name)
			must(t, err)
			info, err := file.Stat()
			must(t, err)
			for lines := bufio.NewScanner(io.NewSectionReader(file, 0, info.Size())); lines.Scan(); {
				var row struct{ ID int64 }
				must(t, json.Unmarshal(lines.Bytes(), &row))
				out = append(out, row.ID)
			}
			must(t, file.Close())
		}
	}
	slices.Sort(out)
	return out
}

// life is a driver's: it claims an epoch and commits batch 1. Its error is what ended it.
func life(t *testing.T, f localfs.FS) error {
	s := onDisk(f).Open(t)
	q := sinktest.Query("q", 2)
	if err := s.Recover(t.Context(), q, nil); err != nil {
		return err
	}
	p, err := s.Prepare(t.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{3}, []int64{4, 5}))
	if err != nil {
		return err
	}
	r, err := s.Commit(t.Context(), p)
	if err == nil && r.Outcome != sinks.Committed && r.Outcome != sinks.AlreadyCommitted {
		err = errors.New(r.Outcome.String())
	}
	return err
}

// TestPowerIsLostAtEachChange: the machine loses power at each change of the disk that a start and a batch make, and of what was not synced all, half or nothing is left.
// The next process makes the rows exact; and a batch whose commit had returned is there.
func TestPowerIsLostAtEachChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	history := crashfs.New()
	sinktest.Start(t, onDisk(history), sinktest.Query("q", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1}, []int64{2})
	for _, percent := range []int{0, 50, 100} {
		for at := 1; ; at++ {
			machine := history.Clone()
			machine.CrashAt(at)
			err := life(t, machine)
			if !machine.Lost() {
				must(t, err)
				if at < 20 {
					t.Fatalf("only %d changes", at)
				}
				break
			}
			after := machine.Crash(random, percent)
			rows := visibleRows(t, after)
			if !slices.Equal(rows, []int64{1, 2}) && !slices.Equal(rows, []int64{1, 2, 3, 4, 5}) {
				t.Fatalf("change %d, %d %%: half a batch is visible: %v", at, percent, rows)
			}
			if err == nil && len(rows) != 5 {
				t.Fatalf("change %d, %d %%: a commit that had returned is gone: %v", at, percent, rows)
			}
			d := sinktest.Start(t, onDisk(after), sinktest.Query("q", 3), nil)
			want := sinks.Committed
			if d.Visible().Batch == 1 {
				want = sinks.AlreadyCommitted
			}
			d.Commit(want, 1, "a", []int64{3}, []int64{4, 5})
			d.Commit(sinks.Committed, 2, "a", []int64{6})
			if rows := visibleRows(t, after.Crash(random, 0)); !slices.Equal(rows, []int64{1, 2, 3, 4, 5, 6}) {
				t.Fatalf("change %d, %d %%: %v", at, percent, rows)
			}
		}
	}
}

// TestAFailedChangeIsAnErrorAndNotHalfABatch: each change of the disk fails once, with the numbers that disks answer with. Nothing is half visible, and a fresh
// process makes the rows exact.
func TestAFailedChangeIsAnErrorAndNotHalfABatch(t *testing.T) {
	history := crashfs.New()
	sinktest.Start(t, onDisk(history), sinktest.Query("q", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1}, []int64{2})
	for at := 1; ; at++ {
		machine := history.Clone()
		n, failed := 0, false
		machine.Fault(func(op, name string) error {
			if n++; n == at {
				failed = true
				return fs.ErrPermission
			}
			return nil
		})
		err := life(t, machine)
		machine.Fault(nil)
		if !failed {
			must(t, err)
			return
		}
		if err == nil {
			t.Errorf("change %d failed, and nobody says so", at)
		}
		d := sinktest.Start(t, onDisk(machine), sinktest.Query("q", 3), nil)
		want := sinks.Committed
		if d.Visible().Batch == 1 {
			want = sinks.AlreadyCommitted
		}
		d.Commit(want, 1, "a", []int64{3}, []int64{4, 5})
		if rows := visibleRows(t, machine); !slices.Equal(rows, []int64{1, 2, 3, 4, 5}) {
			t.Fatalf("change %d: %v", at, rows)
		}
	}
}

//go:build services && linux

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/internal/figures"
)

// onSmallDisk is a world whose checkpoint and tables are on a tmpfs of their own. Its input is elsewhere. It needs root.
func onSmallDisk(t *testing.T, size string) *world {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return (&world{t: t, dir: t.TempDir(), format: "parquet", glob: true, extra: "max_restarts: 3\n"}).at(disk)
}

// remount changes the disk of a world.
func (w *world) remount(flags uintptr, options string) {
	w.t.Helper()
	if err := syscall.Mount("tmpfs", w.root, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		w.t.Fatalf("remount with %s: %v", options, err)
	}
}

// TestFullDiskAtEachPage runs the query on disks of 4 KiB, 8 KiB, and so on: each is full one page later, so that checkpoint, data files and logs are where it
// happens. The program says that the disk is full; on the same disk it says so again; with room it finishes exactly.
func TestFullDiskAtEachPage(t *testing.T) {
	sizes := []int{64, 96}
	for kib := 4; kib <= 400; kib += 4 {
		if os.Getenv(injectEnv) == "all" || rand.IntN(12) == 0 {
			sizes = append(sizes, kib)
		}
	}
	full := map[string]int{}
	for _, kib := range sizes {
		w := onSmallDisk(t, fmt.Sprintf("%dk", kib))
		w.feed(5)
		for range 2 {
			e := w.run("start", w.file, "--once", "--progress", "none")
			if e.code == 0 {
				break
			}
			code := coded.FindStringSubmatch(e.out)
			if e.code != 1 || code == nil || code[1] != errcode.StoreFull.ID {
				t.Fatalf("a disk of %d KiB: exit code %d, signal %v: %s", kib, e.code, e.signal, e.out)
			}
			full[placeOf(e.out, w.root)]++
			w.whole()
		}
		w.remount(0, "size=16m")
		w.catchUp()
		w.exact()
		if t.Failed() {
			t.Fatalf("on a disk of %d KiB", kib)
		}
	}
	sum := 0
	for place, n := range full {
		t.Logf("full %d times at %s", n, place)
		sum += n
	}
	if sum == 0 {
		t.Error("no disk was full")
	}
	figures.Add(t, "full disks", sum)
}

// placeOf is the folder in whose file the disk was full.
func placeOf(out, root string) string {
	_, rest, _ := strings.Cut(out, root+"/")
	rest, _, _ = strings.Cut(rest, ":")
	return filepath.Dir(rest)
}

// TestADiskThatTurnsReadOnly: the disk of the table turns read-only while a batch is under way.
func TestADiskThatTurnsReadOnly(t *testing.T) {
	for _, point := range []string{"prepare.before", "commit.before", "commit.put.before"} {
		t.Run(point, func(t *testing.T) {
			w := onSmallDisk(t, "16m")
			w.file = write(t, w.dir, "p.yaml", strings.ReplaceAll(read(t, w.file), w.root+"/checkpoint", w.dir+"/checkpoint")) // the lock is open there
			w.feed(5)
			p := w.launch(point+":stop:3", "start", w.file, "--once", "--progress", "none")
			if !p.stopped() {
				t.Fatal(p.out.String())
			}
			w.remount(syscall.MS_RDONLY, "size=16m")
			p.goOn()
			if e := p.end(); e.code != 2 || !strings.Contains(e.out, errcode.StoreReadOnly.ID) {
				t.Errorf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
			}
			w.remount(0, "size=16m")
			w.catchUp()
			w.exact()
			figures.Add(t, "read-only in the middle of a run", 1)
		})
	}
}

// TestRightsThatAreTakenAway: a folder loses its write permission while a batch is under way. The program runs as nobody, since root may do everything.
func TestRightsThatAreTakenAway(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
		t.Fatal(err)
	}
	for point, folder := range map[string]string{
		"intend.before": "checkpoint/offsets", "prepare.before": "table", "commit.put.before": "table/_metadata", "record.before": "checkpoint/commits",
		"commit.before": "table_rejected/_metadata",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := local(t, "parquet")
			w.feed(5)
			if err := errors.Join(os.Chmod(filepath.Dir(w.dir), 0o711), os.Chown(w.dir, nobody, nobody)); err != nil {
				t.Fatal(err)
			}
			w.uid = nobody
			p := w.launch(point+":stop:3", "start", w.file, "--once", "--progress", "none")
			if !p.stopped() {
				t.Fatal(p.out.String())
			}
			rights(t, w, folder, 0o555)
			p.goOn()
			if e := p.end(); e.code != 2 || !strings.Contains(e.out, errcode.StoreNoPermission.ID) {
				t.Errorf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
			}
			rights(t, w, folder, 0o755)
			w.catchUp()
			w.exact()
			figures.Add(t, "rights taken away in the middle of a run", 1)
		})
	}
}

const nobody = 65534

func rights(t *testing.T, w *world, folder string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(w.dir, folder), mode); err != nil {
		t.Fatal(err)
	}
}

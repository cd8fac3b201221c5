package localfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
)

// write is one step of the program that loses power: contents that a key may have after it was begun (the last is what it writes), and how.
type write struct {
	key  string
	data string
	do   func(ctx context.Context, s objstore.Store, key string, data []byte) error
}

func putIfAbsent(ctx context.Context, s objstore.Store, key string, data []byte) error {
	return s.PutIfAbsent(ctx, key, data)
}

func replace(ctx context.Context, s objstore.Store, key string, data []byte) error {
	return s.Put(ctx, key, data)
}

func stream(ctx context.Context, s objstore.Store, key string, data []byte) error {
	w, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort(ctx))
	}
	return w.Commit(ctx)
}

var program = []write{
	{"metadata", "id", putIfAbsent},
	{"offsets/0", strings.Repeat("offsets 0 ", 2_000), putIfAbsent},
	{"table/day=1/part-0.parquet", strings.Repeat("rows ", 30_000), stream},
	{"table/day=2/part-1.parquet", strings.Repeat("more rows ", 3_000), stream},
	{"table/_delta_log/0.json", "commit 0", putIfAbsent},
	{"table/_delta_log/_last_checkpoint", "old hint", replace},
	{"commits/0", "done", putIfAbsent},
	{"table/_delta_log/_last_checkpoint", "new and longer hint", replace},
	{"offsets/1", "offsets 1", putIfAbsent},
}

// Power is lost at every k-th write: what was acknowledged is there, the rest is there whole or not at all (S1, S2).
func TestPowerLossAtAnyWriteKeepsWhatWasAcknowledged(t *testing.T) {
	for _, percent := range []int{0, 10, 50, 100} {
		t.Run(fmt.Sprintf("%d percent of the unsynced survive", percent), func(t *testing.T) {
			for k := 1; sweep(t, k, percent); k++ {
			}
		})
	}
}

func sweep(t *testing.T, k, percent int) (crashed bool) {
	disk := crashfs.New()
	disk.CrashAt(k)
	s := localfs.NewOn(disk, localfs.Options{})
	allowed := map[string][]string{} // contents that a key may have; "" is none
	for _, w := range program {
		before := allowed[w.key]
		if before == nil {
			before = []string{""}
		}
		err := w.do(t.Context(), s, w.key, []byte(w.data))
		if err != nil {
			if !disk.Lost() {
				t.Fatalf("k=%d: %s: %v", k, w.key, err)
			}
			allowed[w.key] = append(before, w.data)
			break
		}
		allowed[w.key] = []string{w.data}
	}
	crashed = disk.Lost()
	after := localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(uint64(k), uint64(percent))), percent), localfs.Options{})
	for key, contents := range allowed {
		got, err := after.Get(t.Context(), key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("k=%d: %s: %v", k, key, err)
		}
		found := false
		for _, c := range contents {
			found = found || string(got) == c
		}
		if !found {
			t.Errorf("k=%d: %s has %d bytes %.20q, want one of %d contents, the first %.20q", k, key, len(got), got, len(contents), contents[0])
		}
	}
	return crashed
}

// A process is killed between link and fsync of the folder; the next one acts on the entry only after Sync, so it outlives a power failure.
func TestSyncMakesDurableWhatAKilledProcessHasLinked(t *testing.T) {
	for k := 1; ; k++ {
		disk := crashfs.New()
		disk.CrashAt(k)
		err := localfs.NewOn(disk, localfs.Options{}).PutIfAbsent(t.Context(), "_engine/deep/offsets/7", []byte("entry"))
		if err == nil {
			return
		}
		killed := disk.Kill()
		next := localfs.NewOn(killed, localfs.Options{})
		switch err := next.Sync(t.Context(), "_engine/deep/offsets/7"); {
		case errors.Is(err, fs.ErrNotExist):
			if err := next.PutIfAbsent(t.Context(), "_engine/deep/offsets/7", []byte("entry")); err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatal(err)
		}
		after := localfs.NewOn(killed.Crash(rand.New(rand.NewPCG(2, 2)), 0), localfs.Options{})
		if got, err := after.Get(t.Context(), "_engine/deep/offsets/7"); err != nil || !bytes.Equal(got, []byte("entry")) {
			t.Errorf("k=%d: %q, %v", k, got, err)
		}
	}
}

// Faults of the disk: each stops with its code, nothing half is visible, and it works again once the disk does.
func TestDiskFaultsHaveCodesAndLeaveNothingHalf(t *testing.T) {
	faults := []struct {
		errno error
		code  errcode.Code
	}{
		{syscall.ENOSPC, errcode.StoreFull},
		{syscall.EFBIG, errcode.StoreFull},
		{syscall.EDQUOT, errcode.StoreFull},
		{syscall.EROFS, errcode.StoreReadOnly},
		{syscall.EACCES, errcode.StoreNoPermission},
		{syscall.EMFILE, errcode.StoreOpenFiles},
		{syscall.ENFILE, errcode.StoreOpenFiles},
	}
	for _, op := range []string{"create", "write", "mkdir", "link", "rename"} {
		for _, f := range faults {
			t.Run(fmt.Sprintf("%v at %s", f.errno, op), func(t *testing.T) {
				disk := crashfs.New()
				s := localfs.NewOn(disk, localfs.Options{})
				disk.Fault(func(o, _ string) error {
					if o == op {
						return f.errno
					}
					return nil
				})
				failed := 0
				for _, w := range []write{{"a/put", "x", putIfAbsent}, {"b/replaced", "x", replace}, {"c/stream", "x", stream}} {
					err := w.do(t.Context(), s, w.key, []byte(w.data))
					if err != nil {
						failed++
						if !errcode.Has(err, f.code) || !errors.Is(err, f.errno) {
							t.Errorf("%s: %v, want code %s and the cause", w.key, err, f.code.ID)
						}
						if _, err := s.Get(t.Context(), w.key); !errors.Is(err, fs.ErrNotExist) {
							t.Errorf("%s is there after a failed write: %v", w.key, err)
						}
					}
				}
				if failed == 0 {
					t.Error("nothing failed")
				}
				disk.Fault(nil)
				if err := s.PutIfAbsent(t.Context(), "a/again", []byte("x")); err != nil {
					t.Errorf("after the fault: %v", err)
				}
				wantNoTemporaries(t, disk, ".")
			})
		}
	}
}

func wantNoTemporaries(t *testing.T, disk localfs.FS, dir string) {
	t.Helper()
	entries, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("left behind: %s/%s", dir, e.Name())
		}
		if e.IsDir() {
			wantNoTemporaries(t, disk, path.Join(dir, e.Name()))
		}
	}
}

// A folder that cannot be opened for its fsync, for want of descriptors, is a failed fsync, but no disk is to blame.
func TestNoDescriptorForAnFsyncIsNamed(t *testing.T) {
	disk := crashfs.New()
	disk.Fault(func(op, _ string) error {
		if op == "syncdir" {
			return syscall.EMFILE
		}
		return nil
	})
	err := localfs.NewOn(disk, localfs.Options{}).PutIfAbsent(t.Context(), "offsets/0", nil)
	if !errcode.Has(err, errcode.StoreOpenFiles) || !errors.Is(err, objstore.ErrFsync) {
		t.Errorf("%v, want code %s and ErrFsync", err, errcode.StoreOpenFiles.ID)
	}
}

// (L3): one fsync fails, of a file or a folder. The call says ErrFsync, and nobody asks the disk again.
func TestFailedFsyncIsNeverTriedAgain(t *testing.T) {
	for _, op := range []string{"sync", "syncdir"} {
		for name, do := range map[string]func(ctx context.Context, s objstore.Store, key string, data []byte) error{
			"put": putIfAbsent, "replace": replace, "stream": stream,
		} {
			t.Run(op+" of "+name, func(t *testing.T) {
				disk := crashfs.New()
				s := localfs.NewOn(disk, localfs.Options{})
				calls := 0
				disk.Fault(func(o, _ string) error {
					if o == op {
						calls++
						return syscall.EIO
					}
					return nil
				})
				err := do(t.Context(), s, "dir/key", []byte("x"))
				if !errors.Is(err, objstore.ErrFsync) || !errcode.Has(err, errcode.StoreFsync) || errors.Is(err, objstore.ErrUncertain) {
					t.Errorf("%v, want ErrFsync", err)
				}
				if errcode.ClassOf(err) != errcode.Stop {
					t.Errorf("class %v, want stop", errcode.ClassOf(err))
				}
				if calls != 1 {
					t.Errorf("%d calls of %s, want 1", calls, op)
				}
			})
		}
	}
}

// (L3): what was linked beside a name that could not be made durable is not durable either, whatever the next fsync of the folder says; so the store does not ask it.
func TestAFolderWhoseFsyncFailedIsNotSyncedAgain(t *testing.T) {
	disk := crashfs.New()
	s := localfs.NewOn(disk, localfs.Options{})
	if err := s.PutIfAbsent(t.Context(), "offsets/0", nil); err != nil {
		t.Fatal(err)
	}
	calls := 0
	disk.Fault(func(op, name string) error {
		if op != "syncdir" || name != "offsets" {
			return nil
		}
		if calls++; calls == 1 {
			return syscall.EIO
		}
		return nil
	})
	for _, key := range []string{"offsets/1", "offsets/2"} {
		if err := s.PutIfAbsent(t.Context(), key, nil); !errcode.Has(err, errcode.StoreFsync) {
			t.Errorf("%s: %v, want code %s", key, err, errcode.StoreFsync.ID)
		}
	}
	if err := s.Sync(t.Context(), "offsets/1"); !errors.Is(err, objstore.ErrFsync) {
		t.Errorf("sync: %v, want ErrFsync", err)
	}
	if calls != 1 {
		t.Errorf("the folder was synced %d times, want 1", calls)
	}
	if err := s.PutIfAbsent(t.Context(), "commits/0", nil); err != nil {
		t.Errorf("another folder: %v", err)
	}
	if err := localfs.NewOn(disk, localfs.Options{}).Sync(t.Context(), "offsets/1"); err != nil {
		t.Errorf("a new store: %v", err)
	}
}

// A disk that fails before anything can be visible is an error of the disk, not an unknown outcome.
func TestAFailingDiskHasACode(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ESTALE} {
		for _, op := range []string{"create", "write"} {
			disk := crashfs.New()
			s := localfs.NewOn(disk, localfs.Options{})
			disk.Fault(func(o, _ string) error {
				if o == op {
					return errno
				}
				return nil
			})
			if err := s.PutIfAbsent(t.Context(), "key", []byte("x")); !errcode.Has(err, errcode.StoreDiskError) || errors.Is(err, objstore.ErrUncertain) {
				t.Errorf("%v at %s: %v, want code %s", errno, op, err, errcode.StoreDiskError.ID)
			}
		}
	}
}

// A link or rename that fails with EIO may have happened.
func TestUnclearLinkIsUncertain(t *testing.T) {
	for op, do := range map[string]func(ctx context.Context, s objstore.Store, key string, data []byte) error{"link": putIfAbsent, "rename": stream} {
		disk := crashfs.New()
		disk.Fault(func(o, _ string) error {
			if o == op {
				return syscall.EIO
			}
			return nil
		})
		err := do(t.Context(), localfs.NewOn(disk, localfs.Options{}), "key", []byte("x"))
		if !errors.Is(err, objstore.ErrUncertain) || !errcode.Has(err, errcode.StoreUncertain) || errcode.ClassOf(err) != errcode.Uncertain {
			t.Errorf("%s: %v, want ErrUncertain", op, err)
		}
	}
}

// lostLink makes the link and then says that the name was taken, as a retransmitted request over NFS does.
type lostLink struct{ localfs.FS }

func (l lostLink) Link(old, new string) error {
	if err := l.FS.Link(old, new); err != nil {
		return err
	}
	return &fs.PathError{Op: "link", Path: new, Err: syscall.EEXIST}
}

func TestOurOwnLinkReportedAsTakenIsOurs(t *testing.T) {
	s := localfs.NewOn(lostLink{crashfs.New()}, localfs.Options{})
	if err := s.PutIfAbsent(t.Context(), "key", []byte("x")); err != nil {
		t.Errorf("our own link: %v", err)
	}
	if err := s.PutIfAbsent(t.Context(), "key", []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second put: %v, want fs.ErrExist", err)
	}
}

func TestFileSystemWithoutHardLinksIsNamed(t *testing.T) {
	for _, errno := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.EXDEV} {
		disk := crashfs.New()
		disk.Fault(func(op, _ string) error {
			if op == "link" {
				return errno
			}
			return nil
		})
		err := localfs.NewOn(disk, localfs.Options{}).PutIfAbsent(t.Context(), "key", []byte("x"))
		if !errcode.Has(err, errcode.StoreNoLinks) {
			t.Errorf("%v: %v, want %s", errno, err, errcode.StoreNoLinks.ID)
		}
	}
}

// Spark writes its log files without any fsync. What we act on is made durable first, content and name.
func TestSyncMakesForeignContentDurable(t *testing.T) {
	disk := crashfs.New()
	f, err := disk.Create("0", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("entry")); err != nil {
		t.Fatal(err)
	}
	if err := localfs.NewOn(disk, localfs.Options{}).Sync(t.Context(), "0"); err != nil {
		t.Fatal(err)
	}
	after := localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(3, 3)), 0), localfs.Options{})
	if got, err := after.Get(t.Context(), "0"); err != nil || string(got) != "entry" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRemovedObjectsStayAwayAfterPowerLoss: what Remove has deleted does not come back, also where a folder is left empty; a deletion alone may be undone.
func TestRemovedObjectsStayAwayAfterPowerLoss(t *testing.T) {
	ctx := t.Context()
	disk := crashfs.New()
	s := localfs.NewOn(disk, localfs.Options{})
	keys := []string{"table/a.parquet", "table/b.parquet", "table/day=1/c.parquet", "table/d.parquet"}
	for _, key := range keys {
		if err := stream(ctx, s, key, []byte("rows")); err != nil {
			t.Fatal(err)
		}
	}
	if err := objstore.Remove(ctx, s, append(keys[:3:3], "nowhere/e.parquet")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, keys[3]); err != nil {
		t.Fatal(err)
	}
	s = localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(1, 1)), 0), localfs.Options{})
	var left []string
	for info, err := range s.List(ctx, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, info.Key)
	}
	if len(left) != 1 || left[0] != keys[3] {
		t.Errorf("after the loss of power there are %v, want what was deleted and not removed", left)
	}
}

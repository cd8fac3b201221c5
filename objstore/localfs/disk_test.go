package localfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
)

func TestNewAndReadingLeaveNoTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	s := open(t, dir)
	for _, err := range s.List(t.Context(), "", "") {
		t.Errorf("List of a missing folder: %v", err)
	}
	if _, err := s.Get(t.Context(), "metadata"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get: %v", err)
	}
	if err := s.Delete(t.Context(), "metadata"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestFolderMadeLaterByAnotherProcessIsSeen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	reader := open(t, dir)
	if _, err := reader.Get(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := open(t, dir).PutIfAbsent(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := reader.Get(t.Context(), "a"); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOfTwoProcessesOneWins(t *testing.T) {
	dir := t.TempDir()
	stores := []*localfs.Store{open(t, dir), open(t, dir), open(t, dir)}
	for round := range 20 {
		var wins atomic.Int32
		var group sync.WaitGroup
		for _, s := range stores {
			group.Go(func() {
				if s.PutIfAbsent(t.Context(), fmt.Sprintf("epoch/%d", round), nil) == nil {
					wins.Add(1)
				}
			})
		}
		group.Wait()
		if wins.Load() != 1 {
			t.Errorf("round %d: %d winners", round, wins.Load())
		}
	}
}

func TestPrivateFilesAreForTheirOwnerAlone(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table")
	dir := filepath.Join(table, "_checkpoint")
	s, err := localfs.New(dir, localfs.Options{Private: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "offsets/0", nil); err != nil {
		t.Fatal(err)
	}
	if err := stream(t.Context(), s, "state/x", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, "offsets": 0o700, "offsets/0": 0o600, "state/x": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
	if info, err := os.Stat(table); err != nil || info.Mode().Perm()&0o055 == 0 && !umaskHidesAll(t) {
		t.Errorf("the folder around has mode %v (%v): its readers need it", info.Mode(), err)
	}
}

// umaskHidesAll reports whether whoever runs the tests keeps all new folders private.
func umaskHidesAll(t *testing.T) bool {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o055 == 0
}

func TestSymbolicLinksDoNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{
		"in/inside": "real", "in/real-dir": "../in", "in/gone": "nothing", "out": outside, "out-file": filepath.Join(outside, "secret"),
	} {
		os.MkdirAll(filepath.Join(dir, "in"), 0o777)
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(outside, "secret"), filepath.Join(dir, "in/real")} {
		if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	if _, err := s.Get(t.Context(), "out/secret"); !errcode.Has(err, errcode.StoreLeavesRoot) {
		t.Errorf("Get through a link: %v", err)
	}
	if err := s.PutIfAbsent(t.Context(), "out/new", nil); err == nil {
		t.Error("PutIfAbsent through a link went well")
	}
	var keys []string
	for info, err := range s.List(t.Context(), "in/", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if diff := cmp.Diff([]string{"in/inside", "in/real"}, keys); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	var last error
	for _, err := range s.List(t.Context(), "", "") {
		last = err
	}
	if !errcode.Has(last, errcode.StoreLeavesRoot) {
		t.Errorf("List over a link that leads out: %v, want it named", last)
	}
}

func TestHadoopChecksumsAreRemovedAndHidden(t *testing.T) {
	dir := t.TempDir()
	side := filepath.Join(dir, ".0.crc")
	s := open(t, dir)
	for name, do := range map[string]func() error{
		"PutIfAbsent": func() error { return s.PutIfAbsent(t.Context(), "0", []byte("x")) },
		"Put":         func() error { return s.Put(t.Context(), "0", []byte("y")) },
		"Create":      func() error { return stream(t.Context(), s, "0", []byte("z")) },
		"Delete":      func() error { return s.Delete(t.Context(), "0") },
	} {
		if name == "PutIfAbsent" {
			if err := s.Delete(t.Context(), "0"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(side, []byte("crc\x00"), 0o666); err != nil {
			t.Fatal(err)
		}
		for info := range s.List(t.Context(), "", "") {
			if info.Key != "0" {
				t.Errorf("List shows %s", info.Key)
			}
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(side); name != "Delete" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s left the stale checksum: %v", name, err)
		}
	}
}

func TestLongNames(t *testing.T) {
	s := open(t, t.TempDir())
	for _, key := range []string{strings.Repeat("x", 255), "dir/" + strings.Repeat("ä", 127)} {
		if err := s.PutIfAbsent(t.Context(), key, []byte("x")); err != nil {
			t.Errorf("PutIfAbsent: %v", err)
		}
		if err := stream(t.Context(), s, key, []byte("y")); err != nil {
			t.Errorf("Create: %v", err)
		}
	}
}

func TestTidyRemovesWhatKilledWritersLeft(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	table := objstore.Prefix(s, "table")
	for _, key := range []string{"table/day=1/part-1.parquet", "table/part-2.parquet", "other/part-3.parquet"} {
		if _, err := s.Create(t.Context(), key); err != nil { // and never ended
			t.Fatal(err)
		}
	}
	if n, err := objstore.Tidy(t.Context(), table, "", time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("Tidy of old ones removed %d, %v", n, err)
	}
	if n, err := objstore.Tidy(t.Context(), table, "day", time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Tidy of one partition removed %d, %v, want 1", n, err)
	}
	if n, err := objstore.Tidy(t.Context(), table, "", time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Tidy of the table removed %d, %v, want 1", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other/.part-3.parquet.tmp")); err != nil {
		t.Errorf("Tidy went beyond its prefix: %v", err)
	}
}

// Many writers of a folder share its fsyncs; each still gets one that began after its own name was made.
func TestDirectoryFsyncsAreShared(t *testing.T) {
	const writers = 32
	disk := crashfs.New()
	s := localfs.NewOn(disk, localfs.Options{})
	if err := s.PutIfAbsent(t.Context(), "dir/first", nil); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	var renamed, syncs atomic.Int32
	slow := localfs.NewOn(slowSync{disk, gate, &syncs}, localfs.Options{})
	disk.Fault(func(op, _ string) error {
		if op == "rename" && renamed.Add(1) == writers {
			close(gate) // no sync ends before all writers have made their names
		}
		return nil
	})
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			if err := stream(t.Context(), slow, fmt.Sprintf("dir/%d", i), []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := syncs.Load(); n > 5 {
		t.Errorf("%d fsyncs of folders for %d writers at once", n, writers)
	}
}

type slowSync struct {
	*crashfs.FS
	gate  chan struct{}
	syncs *atomic.Int32
}

func (s slowSync) SyncDir(name string) error {
	s.syncs.Add(1)
	<-s.gate
	return s.FS.SyncDir(name)
}

func TestLockIsHeldByOneProcessAndNamesIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	if os.Getenv("LOCK_DIR") != "" {
		holdLock(t, os.Getenv("LOCK_DIR"))
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestLockIsHeldByOneProcessAndNamesIt$", "-test.v")
	child.Env = append(os.Environ(), "LOCK_DIR="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "locked"; {
	}
	s := open(t, dir)
	_, err = s.Lock(t.Context(), "_engine/lock")
	if !errors.Is(err, objstore.ErrLocked) || !errcode.Has(err, errcode.StoreLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", child.Process.Pid)) {
		t.Errorf("%v, want ErrLocked that names pid %d", err, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil { // the lock ends with its process
		t.Fatal(err)
	}
	child.Wait()
	l, err := s.Lock(t.Context(), "_engine/lock")
	if err != nil {
		t.Fatalf("Lock after the holder was killed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func holdLock(t *testing.T, dir string) {
	if _, err := open(t, dir).Lock(t.Context(), "_engine/lock"); err != nil {
		t.Fatal(err)
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin)
}

func TestLockThatIsGivenBackLeavesNoTrace(t *testing.T) {
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(parent, "checkpoint"))
	for range 2 {
		l, err := s.Lock(t.Context(), "_engine/lock")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(filepath.Join(parent, "checkpoint"))
		if err != nil || len(entries) > 0 {
			t.Errorf("left %v, %v", entries, err)
		}
	}
	l, err := s.Lock(t.Context(), "_engine/lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "_engine/epoch/1", nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), "_engine/epoch/1"); err != nil {
		t.Errorf("an object beside the lock: %v", err)
	}
}

// Lockers and writers of one folder race with each other's making and removing of it.
func TestLockersAndWritersShareAFolder(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "checkpoint"))
	var held atomic.Int32
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for n := range 40 {
				l, err := s.Lock(t.Context(), "a/b/lock")
				if errors.Is(err, objstore.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if held.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				key := fmt.Sprintf("a/b/%d-%d", worker, n)
				if err := errors.Join(s.PutIfAbsent(t.Context(), key, nil), s.Delete(t.Context(), key)); err != nil {
					t.Error(err)
				}
				held.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestARootThatIsAFileIsSaidToBeOne: somebody names a file where a folder is meant.
func TestARootThatIsAFileIsSaidToBeOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, file)
	if _, err := s.Get(t.Context(), "metadata"); !errcode.Has(err, errcode.StoreNotFolder) {
		t.Errorf("get: %v", err)
	}
	if err := s.PutIfAbsent(t.Context(), "metadata", []byte("x")); !errcode.Has(err, errcode.StoreNotFolder) {
		t.Errorf("put: %v", err)
	}
	for _, err := range s.List(t.Context(), "", "") {
		if !errcode.Has(err, errcode.StoreNotFolder) {
			t.Errorf("list: %v", err)
		}
	}
}

//go:build services && linux

package localfs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore/localfs"
)

// tmpfs mounts a small disk. It needs root.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskStopsAndWorksAgainOnceFreed(t *testing.T) {
	dir := tmpfs(t)
	s := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 48<<10), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]write{"put": {do: putIfAbsent}, "replace": {do: replace}, "stream": {do: stream}} {
		if err := w.do(t.Context(), s, "dir/"+name, make([]byte, 32<<10)); !errcode.Has(err, errcode.StoreFull) {
			t.Errorf("%s: %v, want code %s", name, err, errcode.StoreFull.ID)
		}
		if _, err := s.Get(t.Context(), "dir/"+name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something is there: %v", name, err)
		}
	}
	wantDir(t, filepath.Join(dir, "dir"))
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "dir/put", make([]byte, 32<<10)); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
}

// wantDir compares the names in a folder, hidden ones too.
func wantDir(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, names, want)
	}
}

func TestReadOnlyDiskIsNamed(t *testing.T) {
	dir := tmpfs(t)
	s := open(t, dir)
	if err := s.PutIfAbsent(t.Context(), "there", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, lock := s.Lock(t.Context(), "_engine/lock")
	for op, err := range map[string]error{"put": s.PutIfAbsent(t.Context(), "new", nil), "delete": s.Delete(t.Context(), "there"), "lock": lock} {
		if !errcode.Has(err, errcode.StoreReadOnly) {
			t.Errorf("%s: %v, want code %s", op, err, errcode.StoreReadOnly.ID)
		}
	}
	if got, err := s.Get(t.Context(), "there"); err != nil || string(got) != "x" {
		t.Errorf("reading still works: %q, %v", got, err)
	}
}

// TestMain lets the test binary do one thing to a store when a tracer runs it: PUT_HOW (put by default) to PUT_KEY.
func TestMain(m *testing.M) {
	dir := os.Getenv("PUT_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := localfs.New(dir, localfs.Options{})
	if err == nil {
		err = putting(s, os.Getenv("PUT_HOW"), cmp.Or(os.Getenv("PUT_KEY"), "offsets/0"))
	}
	fmt.Println("put:", err)
}

// putting does what the environment asks for.
func putting(s *localfs.Store, how, key string) error {
	ctx, data := context.Background(), []byte("entry")
	switch how {
	case "replace":
		return replace(ctx, s, key, data)
	case "stream":
		return stream(ctx, s, key, data)
	case "large":
		return stream(ctx, s, key, make([]byte, 9<<20))
	case "delete":
		return s.Delete(ctx, key)
	case "sync":
		return s.Sync(ctx, key)
	}
	return putIfAbsent(ctx, s, key, data)
}

// traced runs the putting child under strace with an injection.
func traced(t *testing.T, dir, inject string) string {
	t.Helper()
	syscallName, _, _ := strings.Cut(inject, ":")
	cmd := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace="+syscallName, "-e", "inject="+inject, os.Args[0])
	cmd.Env = append(os.Environ(), "PUT_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("strace: %v", err)
	}
	return string(out)
}

func TestKernelsFsyncErrorStops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	if out := traced(t, dir, "fsync:error=EIO"); !strings.Contains(out, errcode.StoreFsync.ID) {
		t.Errorf("the child says %q, want code %s", out, errcode.StoreFsync.ID)
	}
}

// Killed in link(2): the key is there whole or not at all, the temporary file is hidden, and Tidy takes it.
func TestKilledInsideLink(t *testing.T) {
	dir := t.TempDir()
	if out := traced(t, dir, "linkat:signal=KILL"); strings.Contains(out, "put:") {
		t.Fatalf("the child lived: %q", out)
	}
	s := open(t, dir)
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), info.Key); err != nil || string(got) != "entry" {
			t.Errorf("%s is %q, %v", info.Key, got, err)
		}
	}
	if err := s.PutIfAbsent(t.Context(), "offsets/0", []byte("entry")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if n, err := s.Tidy(t.Context(), "", time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Tidy removed %d, %v, want the child's temporary file", n, err)
	}
	wantDir(t, filepath.Join(dir, "offsets"), "0")
}

package localfs_test

import (
	"path/filepath"
	"testing"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/objstore/storetest"
)

func TestLocalDiskConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objstore.Store {
		return open(t, filepath.Join(t.TempDir(), "not", "yet", "made"))
	})
}

func TestCrashFileSystemConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return localfs.NewOn(crashfs.New(), localfs.Options{}) })
}

func open(t *testing.T, dir string) *localfs.Store {
	t.Helper()
	s, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openBench is a store for a benchmark.
func openBench(b *testing.B) *localfs.Store {
	s, err := localfs.New(b.TempDir(), localfs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

package localfs_test

import (
	"math/rand/v2"
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

// Three handles on one folder, as three processes have them.
func TestHandlesOnOneFolderAreLinearizable(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		storetest.Linearizable(t, []objstore.Store{open(t, dir), open(t, dir), open(t, dir)}, storetest.Mixed()...)
	}
}

// Clients race, the power fails at some change to the disk, clients race on what is left, and so on: what was answered, and what was seen and synced, holds
// through all of it (S2). Deletes are not durable and are left out.
func TestWhatWasAnsweredHoldsThroughPowerFailures(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		ops := []string{"put", "put", "get", "stat"}
		if seed%2 == 0 {
			ops = append(ops, "replace") // which syncs the folder for the others too
		}
		h := storetest.NewHistory(t)
		h.Broken = true
		disk := crashfs.New()
		for range 4 {
			disk.CrashAt(1 + random.IntN(120))
			h.Race([]objstore.Store{localfs.NewOn(disk, localfs.Options{}), localfs.NewOn(disk, localfs.Options{})}, 20, ops...)
			disk = disk.Crash(random, random.IntN(4)*100/3)
			h.PowerFailed()
		}
		h.Race([]objstore.Store{localfs.NewOn(disk, localfs.Options{})}, 10, "put", "get", "stat")
		h.Check()
	}
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

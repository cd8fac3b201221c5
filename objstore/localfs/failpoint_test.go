//go:build failpoints

package localfs_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/failpoint"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
)

// At each named point the power goes, and the disk holds what the point's name says.
func TestPowerLossAtEachFaultPoint(t *testing.T) {
	var names []string
	for _, p := range []struct {
		name, key string
		write     write
		kept      bool // by a disk that keeps only what was synced
	}{
		{"localfs.put.written", "offsets/0", write{do: putIfAbsent}, false},
		{"localfs.put.linked", "offsets/0", write{do: putIfAbsent}, false},
		{"localfs.put.synced", "offsets/0", write{do: putIfAbsent}, true},
		{"localfs.create.written", "part-0.parquet", write{do: stream}, false},
		{"localfs.create.renamed", "part-0.parquet", write{do: stream}, false},
	} {
		disk := crashfs.New()
		remove := failpoint.Set(p.name, func(int) error {
			names = append(names, p.name)
			disk.Kill()
			return nil
		})
		err := p.write.do(t.Context(), localfs.NewOn(disk, localfs.Options{}), p.key, []byte("whole"))
		remove()
		if (err == nil) != p.kept {
			t.Errorf("%s: %v", p.name, err)
		}
		after := localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(1, 1)), 0), localfs.Options{})
		got, err := after.Get(t.Context(), p.key)
		if p.kept && string(got) != "whole" || !p.kept && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: found %q, %v", p.name, got, err)
		}
	}
	want := []string{"localfs.put.written", "localfs.put.linked", "localfs.put.synced", "localfs.create.written", "localfs.create.renamed"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("points passed (-want +got):\n%s", diff)
	}
}

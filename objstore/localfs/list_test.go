package localfs_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/objstore/mem"
)

// The walk of folders, which skips what cannot match, agrees with sorting all keys and looking at each.
func TestListAgreesWithSortingAllKeys(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		disk, plain := localfs.NewOn(crashfs.New(), localfs.Options{}), mem.New()
		for range 30 {
			key := randomKey(random)
			if disk.Put(t.Context(), key, nil) == nil { // not where a folder of that name is, or a file is on the way
				if err := plain.Put(t.Context(), key, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 {
			prefix, after := randomKey(random), randomKey(random)
			prefix = prefix[:random.IntN(len(prefix)+1)]
			if strings.Contains(prefix, "//") {
				continue
			}
			want, got := keysOf(t, plain, prefix, after), keysOf(t, disk, prefix, after)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: List(%q, %q) (-want +got):\n%s", seed, prefix, after, diff)
			}
		}
	}
}

// randomKey is made of few letters, some of which sort before and some after the slash.
func randomKey(random *rand.Rand) string {
	var parts []string
	for range 1 + random.IntN(4) {
		part := make([]byte, 1+random.IntN(3))
		for i := range part {
			part[i] = "!-0az"[random.IntN(5)]
		}
		parts = append(parts, string(part))
	}
	return strings.Join(parts, "/")
}

func keysOf(t *testing.T, s objstore.Store, prefix, after string) (keys []string) {
	for info, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

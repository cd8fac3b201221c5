package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"microbatch/objstore"
)

// tree is a set of keys in byte order in which names of folders and objects sort differently with and without their slash.
var tree = []string{
	"0", "Z/1", "_x/1", "a-", "a-/x", "a-b", "a.x", "a/!", "a/b", "a/c-", "a/c/1", "a/c/10", "a/c/2", "a/c0", "a0", "aa/b/c/d", "ab", "z", "ä/1", "日",
}

func plant(t *testing.T, s objstore.Store) []string {
	t.Helper()
	keys := slices.DeleteFunc(slices.Clone(tree), func(key string) bool { return key == "a-" }) // an object and a folder of one name: not on every store
	for _, key := range slices.Backward(keys) {
		mustPut(t, s, key, key)
	}
	return keys
}

func listOrder(t *testing.T, s objstore.Store) {
	keys := plant(t, s)
	if !slices.IsSorted(keys) {
		t.Fatal("the suite's own keys are not sorted")
	}
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if info.Size != int64(len(info.Key)) || info.Modified.IsZero() {
			t.Errorf("List: %+v, want size %d and a time", info, len(info.Key))
		}
	}
	if diff := cmp.Diff(keys, list(t, s, "", "")); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

// listRange checks all prefixes and starting points against the sorted keys.
func listRange(t *testing.T, s objstore.Store) {
	keys := plant(t, s)
	prefixes := []string{"", "a", "a/", "a/c", "a/c/", "a/c/1", "a-", "aa/b", "ä", "none", "a/none/", "a/c/1/"}
	afters := append([]string{"", "!", "a/", "a/c/", "a/c/100", "a/c", "zz", "\xff"}, keys...)
	for _, prefix := range prefixes {
		for _, after := range afters {
			var want []string
			for _, key := range keys {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			if after == "\xff" && len(want) == 0 && prefix != "" {
				continue // not UTF-8: once is enough
			}
			if diff := cmp.Diff(want, list(t, s, prefix, after)); diff != "" {
				t.Errorf("List(%q, %q) (-want +got):\n%s", prefix, after, diff)
			}
		}
	}
}

func listPages(t *testing.T, s objstore.Store) {
	const n = 1_050 // a page of S3 is 1,000
	var group errgroup.Group
	group.SetLimit(16)
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprintf("log/%020d.json", i)
		group.Go(func() error { return s.Put(t.Context(), want[i], nil) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, list(t, s, "log/", "")); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[17:], list(t, s, "log/", want[16])); diff != "" {
		t.Errorf("List after the 17th (-want +got):\n%s", diff)
	}
}

func listLeft(t *testing.T, s objstore.Store) {
	keys := plant(t, s)
	for stop := 1; stop <= len(keys); stop += 4 {
		seen := 0
		for _, err := range s.List(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == stop {
				break
			}
		}
		if seen != stop {
			t.Errorf("saw %d, wanted to leave at %d", seen, stop)
		}
	}
}

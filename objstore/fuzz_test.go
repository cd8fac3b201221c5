package objstore_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
)

// FuzzValidKey: a key is refused, or is clean, stays below any prefix, and names a file below the folder of a local store.
func FuzzValidKey(f *testing.F) {
	for _, key := range []string{"a/b", "", ".", "..", "a/../b", "/a", "a/", "a//b", "a\x00", "...", "a/...", ".a", "C:\\x", "a\\..\\b", "\xff", "\u2025/x", strings.Repeat("long", 300), "a/./b", " ", "~"} {
		f.Add(key)
	}
	dir := f.TempDir()
	store, err := localfs.New(filepath.Join(dir, "store"), localfs.Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outside"), []byte("secret"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key string) {
		valid := objstore.ValidKey(key) == nil
		if valid && (path.Clean(key) != key || path.IsAbs(key) || key == "." || strings.HasPrefix(path.Join("p", key), "../") || !strings.HasPrefix(path.Join("/p", key), "/p/") || strings.ContainsRune(key, 0)) {
			t.Fatalf("%q is accepted", key)
		}
		if data, err := store.Get(t.Context(), key); err == nil && string(data) != "content" {
			t.Fatalf("%q reads %q", key, data)
		}
		if err := store.Put(t.Context(), key, []byte("content")); err == nil {
			if !valid {
				t.Fatalf("%q is written", key)
			}
			if err := store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		if data, err := os.ReadFile(filepath.Join(dir, "outside")); err != nil || string(data) != "secret" {
			t.Fatalf("%q has changed a file outside: %q, %v", key, data, err)
		}
	})
}

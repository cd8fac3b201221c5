package crashfs

import (
	"io/fs"
	"math/rand/v2"
	"testing"
)

// TestACloneForgetsWhatTheOriginalWouldForget: content, and what of it is unsynced, are the same, and changes of one are not seen in the other.
func TestACloneForgetsWhatTheOriginalWouldForget(t *testing.T) {
	original := New()
	for _, name := range []string{"a", "b"} {
		f, err := original.Create(name, 0o666)
		if err == nil {
			_, err = f.Write([]byte(name))
		}
		if err == nil && name == "a" {
			err = f.Sync()
		}
		if err == nil && name == "a" {
			err = original.SyncDir(".")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := original.Link("a", "c"); err != nil {
		t.Fatal(err)
	}
	clone := original.Clone()
	if same, err := clone.Same("a", "c"); !same || err != nil {
		t.Errorf("two names of one file are not, in the clone: %v", err)
	}
	if err := original.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if names := namesOf(t, clone); names != "a b c" {
		t.Errorf("the clone has %s", names)
	}
	if names := namesOf(t, clone.Crash(rand.New(rand.NewPCG(1, 1)), 0)); names != "a" {
		t.Errorf("after a loss of power the clone has %s, want what was synced", names)
	}
}

func namesOf(t *testing.T, f *FS) (names string) {
	t.Helper()
	entries, err := f.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]fs.DirEntry{}
	for _, e := range entries {
		have[e.Name()] = e
	}
	for _, name := range []string{"a", "b", "c"} {
		if have[name] != nil {
			if names != "" {
				names += " "
			}
			names += name
		}
	}
	return names
}

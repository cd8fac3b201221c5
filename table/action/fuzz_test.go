package action

import (
	"bytes"
	"strings"
	"testing"

	"microbatch/internal/corpus"
	"microbatch/objstore"
)

// FuzzDecodePath: a path of a log is refused, or names one clean key below the table, and that key's own path names it again.
func FuzzDecodePath(f *testing.F) {
	for _, seed := range []string{
		"a/b", "../x", "%2e%2e/%2e%2e", "file:x", "a%2Fb", "/", "s3://b/k", "C:/x", "a%00b", "%252e%252e/x", "a/%2E%2E%2Fb", "..%5C..%5Cx", "a?b#c", "%", "%zz", "+", "a+b%20c", "\u2025/x", "//host/x", "p=a:b/x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		key, err := DecodePath(path)
		if err != nil {
			return
		}
		if objstore.ValidKey(key) != nil {
			t.Fatalf("%q gives the key %q", path, key)
		}
		for part := range strings.SplitSeq(key, "/") {
			if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
				t.Fatalf("%q gives the key %q", path, key)
			}
		}
		if back, err := DecodePath(EncodePath(key)); err != nil || back != key {
			t.Fatalf("the key %q comes back as %q, %v", key, back, err)
		}
	})
}

// FuzzDecode: the lines of a log are an error, or actions whose own lines are read as the same actions again.
func FuzzDecode(f *testing.F) {
	for _, data := range corpus.Files(f, "../testdata/spark/*/table/_delta_log/*.json") {
		if len(data) < 8<<10 {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}` + "\n"))
	f.Add([]byte(`{"txn":{"appId":"q","version":1}}` + "\n" + `{"commitInfo":{"timestamp":"x"}}`))
	f.Add([]byte(`{"a":{"b":"\\\""},"a":1}`))
	f.Add([]byte(`{"add":{"path":"x"},"ADD":{"path":"y"}}`))
	f.Add([]byte(`{"cdc":{"path":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		actions, err := Decode(data)
		if err != nil {
			return
		}
		text, err := Encode(actions)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(text)
		if err != nil {
			t.Fatalf("%q was read, and written as %q, which is not: %v", data, text, err)
		}
		if second, err := Encode(again); err != nil || !bytes.Equal(text, second) || len(again) != len(actions) {
			t.Fatalf("%q is written as %q, and then as %q, %v", data, text, second, err)
		}
		for i := range actions {
			a := &actions[i]
			if a.Add != nil {
				_, _ = a.Add.Rows(), a.Add.Key()
				_ = a.Add.Tombstone(0, true).Key()
			}
		}
	})
}

package action

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsOfOtherWritersAreDecodedOnce(t *testing.T) {
	for path, key := range map[string]string{
		"part-0.parquet": "part-0.parquet",
		"ts=2024-01-01%2010%253A00%253A00/part-0.parquet": "ts=2024-01-01 10%3A00%3A00/part-0.parquet",
		"_2=bar+%252521/part-0.parquet":                   "_2=bar+%2521/part-0.parquet",
		"with%20space/p@%23h":                             "with space/p@#h",
		"p=ünï/x":                                         "p=ünï/x",
		"p=a:b/x":                                         "p=a:b/x",
	} {
		if got, err := DecodePath(path); err != nil || got != key {
			t.Errorf("%q: %q, %v; want %q", path, got, err, key)
		}
	}
}

func TestHostilePathsAreRefused(t *testing.T) {
	for _, path := range []string{
		"/etc/passwd", "../x", "a/../x", "a/%2e%2e/x", "%2Fetc/passwd", "file:/etc/passwd", "file:///etc/passwd", "s3://bucket/key", "s3a:x", "a//b", "./a", "a/.",
		"", "a%00b", "%zz", "%", "a/", "abfss://c@a.dfs/x",
	} {
		if key, err := DecodePath(path); err == nil {
			t.Errorf("%q is taken for the key %q", path, key)
		}
	}
}

func TestLinesAreWrittenAsSparkWritesThem(t *testing.T) {
	null := (*string)(nil)
	value := "a<b>&c"
	text, err := Encode([]Action{
		{Protocol: &Protocol{MinReader: 1, MinWriter: 2}},
		{Protocol: &Protocol{MinReader: 3, MinWriter: 7, ReaderFeatures: []string{}, WriterFeatures: []string{"appendOnly"}}},
		{Txn: &Txn{AppID: "q", Version: 0}},
		{Add: &Add{Path: "x", PartitionValues: map[string]*string{"p": null, "q": &value}, Size: 1, Modified: 2, DataChange: true, Stats: `{"numRecords":3}`}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["appendOnly"]}}
{"txn":{"appId":"q","version":0}}
{"add":{"path":"x","partitionValues":{"p":null,"q":"a<b>&c"},"size":1,"modificationTime":2,"dataChange":true,"stats":"{\"numRecords\":3}"}}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestRepeatedKeysAreFoundToADepth(t *testing.T) {
	for text, key := range map[string]string{
		`{"a":1,"b":{"a":2}}`:             "",
		`{"a":1,"a":2}`:                   "a",
		`{"add":{"path":"x","path":"y"}}`: "path",
		`{"a":{"b":{"c":1,"c":2}}}`:       "", // too deep to matter
		`{"a":["x","x"],"b":"a"}`:         "",
		`{"a":"{\"a\":1}","b":1}`:         "",
		`{ "a" : 1 , "a" : 2 }`:           "a",
	} {
		if got := repeatedKey([]byte(text), 2); got != key {
			t.Errorf("%s: %q, want %q", text, got, key)
		}
	}
}

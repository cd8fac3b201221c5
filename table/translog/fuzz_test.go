package translog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"microbatch/internal/corpus"
	"microbatch/internal/errcode"
	"microbatch/internal/heap"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

const (
	fuzzProtocol = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n"
	fuzzMetadata = `{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}` + "\n"
)

// loadable reads all that can be read of a log. What the log cannot give is an error that names it; a panic, memory far beyond the log's size or a key
// outside of the table is a fault of ours.
func loadable(t *testing.T, store objstore.Store, format Format, limit int64) {
	t.Helper()
	l := New(store, format, func() time.Time { return time.Unix(1_700_000_000, 0) })
	heap.AtMost(t, limit, "a log", func() {
		state, err := l.Load(t.Context(), Latest)
		if err != nil {
			wantLogError(t, err)
		} else {
			readProperties(state)
			_ = errors.Join(l.CheckRead(state), l.CheckWrite(state))
		}
		files, err := l.Files(t.Context(), Latest)
		if err != nil {
			wantLogError(t, err)
			return
		}
		if err := checkLogOrder(files); err != nil {
			t.Fatal(err)
		}
		for _, add := range files.Sorted() {
			_ = add.Rows()
			if key, err := action.DecodePath(add.Path); err == nil && objstore.ValidKey(key) != nil {
				t.Fatalf("%q names the key %q", add.Path, key)
			}
		}
		if state != nil && (state.Version != files.State.Version || !maps.Equal(state.Txns, files.State.Txns)) {
			t.Fatalf("the state alone is version %d with %v, with the files it is %d with %v", state.Version, state.Txns, files.State.Version, files.State.Txns)
		}
	})
	if err := l.History(t.Context(), func(*Commit) bool { return false }); err != nil {
		wantLogError(t, err)
	}
}

func readProperties(s *State) {
	_, _, _ = s.FileRetention(), s.LogRetention(), s.CheckpointDue()
}

func wantLogError(t *testing.T, err error) {
	t.Helper()
	if !errcode.Has(err, errcode.TableLog) && !errcode.Has(err, errcode.TablePath) && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an error that does not say that the log is damaged: %v", err)
	}
}

// bothFormats runs f in both dresses of a log.
func bothFormats(f func(Format)) {
	f(Parquet)
	f(Delta)
}

func mustStore(t *testing.T, store objstore.Store, key string, data []byte) {
	t.Helper()
	if err := store.Put(t.Context(), key, data); err != nil {
		t.Fatal(err)
	}
}

// sparkLogs are the lines of the short logs that Spark has written.
func sparkLogs(f *testing.F) [][]byte {
	return slices.DeleteFunc(corpus.Files(f, "../testdata/spark/*/table/_delta_log/*.json"), func(log []byte) bool { return len(log) >= 8<<10 })
}

// FuzzLog: a log of two versions with any lines can be read, or is an error that says where it is damaged.
func FuzzLog(f *testing.F) {
	for _, log := range sparkLogs(f) {
		f.Add([]byte(fuzzProtocol+fuzzMetadata), log)
	}
	for _, line := range []string{
		`{"add":{"path":"../../etc/passwd","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"file:///etc/passwd","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"%2e%2e/%2e%2e/x","partitionValues":null,"size":9223372036854775807,"modificationTime":-1,"dataChange":true,"stats":"{\"numRecords\":1e308}"}}`,
		`{"add":{"path":"x","partitionValues":{},"size":1e9,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1000000000}"}}`,
		`{"add":{"path":"x","size":1,"deletionVector":{"storageType":"p","pathOrInlineDv":"/etc/passwd","sizeInBytes":2147483647,"cardinality":-1}}}`,
		`{"txn":{"appId":"q","version":-9223372036854775808}}` + "\n" + `{"txn":{"appId":"r","version":9223372036854775807}}`,
		`{"metaData":{"id":"b","format":{"provider":"parquet"},"schemaString":"{}","configuration":{"delta.checkpointInterval":"99999999999999999999","delta.logRetentionDuration":"interval 9223372036854775807 weeks"}}}`,
		`{"protocol":{"minReaderVersion":2147483647,"minWriterVersion":7,"writerFeatures":["` + strings.Repeat("x", 300) + `"]}}`,
		`{"add":` + strings.Repeat(`{"a":`, 2000) + `1` + strings.Repeat("}", 2001),
		`{"sidecar":{"path":"../../../x","sizeInBytes":1,"modificationTime":1}}`,
	} {
		f.Add([]byte(fuzzProtocol+fuzzMetadata), []byte(line+"\n"))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		bothFormats(func(format Format) {
			store := mem.New()
			mustStore(t, store, format.CommitKey(0), first)
			mustStore(t, store, format.CommitKey(1), second)
			loadable(t, store, format, 4<<20+300*int64(len(first)+len(second)))
		})
	})
}

// FuzzCheckpointJSON: the table checkpoint of our own dress, of any text, with a commit after it.
func FuzzCheckpointJSON(f *testing.F) {
	for i, log := range sparkLogs(f) {
		f.Add(fmt.Appendf(nil, `{"checkpointMetadata":{"version":3,"tags":{"microbatch.lines":"%d"}}}`+"\n"+fuzzProtocol+fuzzMetadata+"%s", i, log))
	}
	f.Add([]byte(fuzzProtocol + fuzzMetadata + `{"sidecar":{"path":"../x","sizeInBytes":1,"modificationTime":1}}`))
	f.Add([]byte(`{"checkpointMetadata":{"version":3,"tags":{"microbatch.lines":"1000000000"}}}` + "\n" + fuzzProtocol + fuzzMetadata))
	f.Fuzz(func(t *testing.T, checkpoint []byte) {
		store := mem.New()
		mustStore(t, store, Parquet.checkpointKey(3), checkpoint)
		mustStore(t, store, Parquet.CommitKey(4), []byte(`{"txn":{"appId":"q","version":1}}`+"\n"))
		loadable(t, store, Parquet, 4<<20+300*int64(len(checkpoint)))
	})
}

// FuzzCheckpointParquet: the table checkpoint of a Delta table, of any bytes, and any hint that points at it.
func FuzzCheckpointParquet(f *testing.F) {
	for _, data := range corpus.Files(f, "../testdata/spark/*/table/_delta_log/*.checkpoint*.parquet") {
		f.Add(data, []byte(`{"version":3,"size":12,"parts":1000000000}`))
	}
	f.Add(ownCheckpoint(f), []byte(`{"version":9223372036854775807}`))
	f.Add([]byte("PAR1"), []byte(`{"version":-1}`))
	f.Fuzz(func(t *testing.T, checkpoint, hint []byte) {
		store := mem.New()
		mustStore(t, store, Delta.checkpointKey(3), checkpoint)
		mustStore(t, store, lastCheckpoint, hint)
		mustStore(t, store, Delta.CommitKey(4), []byte(`{"txn":{"appId":"q","version":1}}`+"\n"))
		loadable(t, store, Delta, 2<<30) // a page may claim 256 MiB, and the checkpoint is read for the state and for the files
	})
}

// ownCheckpoint is a table checkpoint as this program writes it.
func ownCheckpoint(f *testing.F) []byte {
	store := mem.New()
	if err := store.Put(f.Context(), Delta.CommitKey(0), []byte(fuzzProtocol+fuzzMetadata+`{"txn":{"appId":"q","version":1}}`+"\n"+
		`{"add":{"path":"p=1/x","partitionValues":{"p":"1"},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":3}"}}`+"\n")); err != nil {
		f.Fatal(err)
	}
	l := New(store, Delta, time.Now)
	state, err := l.Load(f.Context(), Latest)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := l.WriteCheckpoint(f.Context(), state); err != nil {
		f.Fatal(err)
	}
	data, err := store.Get(f.Context(), Delta.checkpointKey(0))
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// FuzzLogNames: whatever files lie in a log's directory, the log of one version beside them is found, or the error says what is wrong. A name that is read as a
// version names that version's file.
func FuzzLogNames(f *testing.F) {
	for _, name := range []string{
		"00000000000000000001.json", "09223372036854775807.json", "09223372036854775806.checkpoint.parquet", "00000000000000000003.checkpoint.0000000001.1000000000.parquet",
		"_00000000000000000007.json", "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", "_sidecars/x.parquet", ".00000000000000000001.json.crc",
		"00000000000000000000.00000000000000000009.compacted.json", "99999999999999999999.json", "+0000000000000000001.json", "0000000000000000000１.json",
	} {
		f.Add(name, []byte("{}\n"))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		bothFormats(func(format Format) {
			key := format.Dir() + name
			if objstore.ValidKey(key) != nil {
				return
			}
			if file, ok := format.parse(key); ok && (file.version < 0 || !strings.HasPrefix(key, format.stem(file.version))) {
				t.Fatalf("%q is taken for version %d", key, file.version)
			}
			store := mem.New()
			mustStore(t, store, format.CommitKey(0), []byte(fuzzProtocol+fuzzMetadata))
			if key != format.CommitKey(0) {
				mustStore(t, store, key, data)
			}
			loadable(t, store, format, 2<<30)
		})
	})
}

// Reading a log that claims much is bounded by what is there: parts of checkpoints, hints and sizes are claims and nothing more.
func TestALogThatClaimsMuchCostsLittle(t *testing.T) {
	store := mem.New()
	mustStore(t, store, Delta.CommitKey(0), []byte(fuzzProtocol+fuzzMetadata))
	mustStore(t, store, lastCheckpoint, []byte(`{"version":1000000000,"size":1000000000,"parts":1000000000}`))
	mustStore(t, store, "_delta_log/00000000000000000005.checkpoint.0000000001.1000000000.parquet", []byte("PAR1"))
	loadable(t, store, Delta, 4<<20)
	l := New(store, Delta, time.Now)
	if s, err := l.Load(t.Context(), Latest); err != nil || s.Version != 0 {
		t.Errorf("%v, %v: want version 0", s, err)
	}
}

package targets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/checker"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
)

func TestNamesOfTablesAreTakenApartAsTheyAreWritten(t *testing.T) {
	for name, want := range map[string][]string{
		"orders": {"orders"}, "Shop.Orders": {"Shop", "Orders"}, `"a.b".c`: {"a.b", "c"}, `a."b.""c"""`: {"a", `b."c"`}, `"a"`: {"a"},
	} {
		if got := parts(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTheMarkerIsReadByAPlainClient, of any form that the sink does not write it is an error.
func TestTheMarkerIsReadByAPlainClient(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, c := range []struct {
		name     string
		offset   int64
		metadata string
		want     checker.Position
		damaged  bool
	}{
		{"none", -1, "", nowhere, false},
		{"an epoch alone", 0, `{"v":1,"batch":-1,"epoch":3,"entry":"3.a"}`, checker.Position{Keeps: true, Batch: -1, Epoch: 3, Entry: "3.a"}, false},
		{"a batch", 8, `{"v":1,"batch":7,"digest":"ab","epoch":3,"entry":"3.a"}`, checker.Position{Keeps: true, Batch: 7, Digest: "ab", Epoch: 3, Entry: "3.a"}, false},
		{"an offset that was set by hand", 5, `{"v":1,"batch":7,"digest":"ab","epoch":3,"entry":"3.a"}`, nowhere, true},
		{"no metadata", 5, "", nowhere, true},
		{"a newer version", 8, `{"v":2,"batch":7}`, nowhere, true},
		{"no batch", 8, `{"v":1}`, nowhere, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			query := strings.ReplaceAll(c.name, " ", "-")
			k := Kafka{Access: kafkaclient.Access{Brokers: cluster.ListenAddrs()}, Topic: "out", Shard: "0of2"}
			if c.offset >= 0 {
				var offsets kadm.Offsets
				offsets.Add(kadm.Offset{Topic: "out", At: c.offset, LeaderEpoch: -1, Metadata: c.metadata})
				if err := kadm.NewClient(client).CommitAllOffsets(t.Context(), "microbatch-"+query+"-0of2", offsets); err != nil {
					t.Fatal(err)
				}
			}
			got, err := k.Position(t.Context(), query)
			if got != c.want || c.damaged != errcode.Has(err, errcode.KafkaSinkMarker) || !c.damaged && err != nil {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if _, err := (Kafka{}).Rows(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	_, err = Kafka{Access: kafkaclient.Access{Brokers: []string{"127.0.0.1:1"}}, Topic: "out"}.Position(shortly(t), "q")
	if errcode.ClassOf(err) != errcode.Retry {
		t.Errorf("nobody answers: %v", err)
	}
}

// shortly is a context that ends soon: what is asked is not there.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*patience/10, nil)
	t.Cleanup(cancel)
	return ctx
}

// folder is a files sink's folder, with batches of query q.
func folder(t *testing.T, files map[string]string) Files {
	t.Helper()
	f := Files{Dir: t.TempDir()}
	for name, text := range files {
		name = filepath.Join(f.Dir, strings.ReplaceAll(name, "HASH", f.hash("q")))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

const recordOf7 = `{"batch":7,"epoch":3,"digest":"ab","rows":2,"files":[{"name":"part-00000.ndjson","rows":2,"bytes":4}]}`

func TestThePositionOfAFolder(t *testing.T) {
	sum := sha256.Sum256([]byte("q\x00"))
	if (Files{}).hash("q") != hex.EncodeToString(sum[:8]) {
		t.Error("the hash is another")
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		want    checker.Position
		damaged bool
	}{
		{"nothing", nil, nowhere, false},
		{"an epoch alone", map[string]string{"_microbatch/HASH/staging/4/x": ""}, checker.Position{Keeps: true, Batch: -1, Epoch: 4}, false},
		{"a folder that the ledger does not know", map[string]string{"batch-000000000007-HASH/_batch.json": recordOf7, "_microbatch/HASH/staging/3/x": ""},
			checker.Position{Keeps: true, Batch: 7, Digest: "ab", Epoch: 3}, false},
		{"a folder that readers have deleted", map[string]string{"_microbatch/HASH/ledger/000000000007.json": recordOf7, "_microbatch/HASH/staging/5/x": ""},
			checker.Position{Keeps: true, Batch: 7, Digest: "ab", Epoch: 5}, false},
		{"the record of another batch", map[string]string{"_microbatch/HASH/ledger/000000000008.json": recordOf7}, nowhere, true},
		{"a record that is cut off", map[string]string{"_microbatch/HASH/ledger/000000000007.json": recordOf7[:20]}, nowhere, true},
		{"another query", map[string]string{"batch-000000000007-0123/_batch.json": recordOf7}, nowhere, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := folder(t, c.files).Position(t.Context(), "q")
			if got != c.want || c.damaged != errcode.Has(err, errcode.FileStageDamaged) || !c.damaged && err != nil {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestABatchsFolderIsWhole(t *testing.T) {
	const place, part = "batch-000000000007-HASH/", "batch-000000000007-HASH/part-00000.ndjson"
	for _, c := range []struct {
		name  string
		files map[string]string
		fault string // "": none
	}{
		{"whole", map[string]string{place + "_batch.json": recordOf7, part: "1234"}, ""},
		{"whole, and in the ledger", map[string]string{place + "_batch.json": recordOf7, part: "1234", "_microbatch/HASH/ledger/000000000007.json": recordOf7}, ""},
		{"deleted by a reader", map[string]string{"_microbatch/HASH/ledger/000000000007.json": recordOf7}, ""},
		{"a file is missing", map[string]string{place + "_batch.json": recordOf7}, "part-00000.ndjson is missing"},
		{"a file is cut off", map[string]string{place + "_batch.json": recordOf7, part: "12"}, "is 2 bytes long, its record says 4"},
		{"a file too many", map[string]string{place + "_batch.json": recordOf7, part: "1234", place + "x.ndjson": ""}, "x.ndjson is no part"},
		{"no record", map[string]string{part: "1234"}, "_batch.json cannot be read"},
		{"another record than the ledger's", map[string]string{place + "_batch.json": recordOf7, part: "1234", "_microbatch/HASH/ledger/000000000007.json": strings.Replace(recordOf7, "ab", "cd", 1)},
			"not that of the ledger"},
		{"the record of another batch", map[string]string{place + "_batch.json": strings.Replace(recordOf7, "7", "6", 1), part: "1234"}, "record of batch 6"},
		{"rows that do not add up", map[string]string{place + "_batch.json": strings.Replace(recordOf7, `"rows":2,"files"`, `"rows":3,"files"`, 1), part: "1234"}, "says 3 rows, and 2 of its files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := 0
			all, err := folder(t, c.files).Batches(t.Context(), "q", func(string, int64, int64) { read++ })
			if err != nil || len(all) != 1 || read != 1 || all[0].Batch != 7 {
				t.Fatalf("%+v, %v", all, err)
			}
			if c.fault == "" && len(all[0].Faults) > 0 || c.fault != "" && !strings.Contains(strings.Join(all[0].Faults, "; "), c.fault) {
				t.Errorf("%q", all[0].Faults)
			}
		})
	}
}

func TestAPlaceThatKeepsNothing(t *testing.T) {
	if p, err := (None{}).Position(t.Context(), "q"); p.Keeps || err != nil {
		t.Error(p, err)
	}
	if p, err := (DuckDB{Path: filepath.Join(t.TempDir(), "none")}).Position(t.Context(), "q"); p != nowhere || err != nil {
		t.Error(p, err)
	}
}

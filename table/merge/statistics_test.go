package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/objstore/mem"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// keysOf is a batch that has the keys of a column of rows.
func keysOf(t *testing.T, ddl string, values ...string) *Batch {
	t.Helper()
	rec := recordOf(t, ddl, values...)
	keys, err := NewColumns(rec.Schema(), []string{"k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBatch(Rule{Keys: keys})
	t.Cleanup(b.Close)
	if err := b.Add(0, rec); err != nil {
		t.Fatal(err)
	}
	if err := b.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStatisticsOfOthers: what other writers put into statistics is never taken for more than it says.
func TestStatisticsOfOthers(t *testing.T) {
	const may, not = true, false
	for _, test := range []struct {
		ddl, key, stats string
		want            bool
	}{
		{"k BIGINT", "5", ``, may},
		{"k BIGINT", "5", `not JSON`, may},
		{"k BIGINT", "5", `{"numRecords":3}`, may},
		{"k BIGINT", "5", `{"numRecords":3,"minValues":{"k":1},"maxValues":{"k":9},"nullCount":{"k":0}}`, may},
		{"k BIGINT", "5", `{"numRecords":3,"minValues":{"k":6},"maxValues":{"k":9},"nullCount":{"k":0}}`, not},
		{"k BIGINT", "5", `{"numRecords":3,"minValues":{"k":1},"maxValues":{"k":4}}`, not},
		{"k BIGINT", "5", `{"numRecords":3,"minValues":{"k":6},"nullCount":{"k":0}}`, may},
		{"k BIGINT", "5", `{"numRecords":3,"minValues":{"k":"x"},"maxValues":{"k":4}}`, may},
		{"k BIGINT", "5", `{"numRecords":3,"nullCount":{"k":3}}`, not},
		{"k BIGINT", "5", `{"numRecords":3,"nullCount":{"k":2}}`, may},
		{"k BIGINT", "9007199254740993", `{"numRecords":3,"minValues":{"k":9007199254740993},"maxValues":{"k":9007199254740993}}`, may},
		{"k BIGINT", "-", `{"numRecords":3,"minValues":{"k":1},"maxValues":{"k":4},"nullCount":{"k":0}}`, not},
		{"k BIGINT", "-", `{"numRecords":3,"minValues":{"k":1},"maxValues":{"k":4},"nullCount":{"k":1}}`, may},
		{"k BIGINT", "-", `{"numRecords":3,"minValues":{"k":1},"maxValues":{"k":4}}`, may},
		{"k STRING", "abc", `{"numRecords":3,"minValues":{"k":"ab"},"maxValues":{"k":"ab\u007f"}}`, may},
		{"k STRING", "abc", `{"numRecords":3,"minValues":{"k":"abd"},"maxValues":{"k":"b"}}`, not},
		{"k STRING", "''", `{"numRecords":3,"minValues":{"k":""},"maxValues":{"k":""}}`, may},
		{"k DATE", "2026-01-02", `{"numRecords":3,"minValues":{"k":"2026-01-02"},"maxValues":{"k":"2026-01-02"}}`, may},
		{"k DATE", "2026-01-02", `{"numRecords":3,"minValues":{"k":"2026-01-03"},"maxValues":{"k":"2026-01-03"}}`, not},
		{"k TIMESTAMP", "2026-01-01T00:00:00.123999Z", `{"numRecords":3,"minValues":{"k":"2026-01-01T00:00:00.123Z"},"maxValues":{"k":"2026-01-01T00:00:00.123Z"}}`, may},
		{"k TIMESTAMP", "2026-01-01T00:00:00.124001Z", `{"numRecords":3,"minValues":{"k":"2026-01-01T00:00:00.123Z"},"maxValues":{"k":"2026-01-01T00:00:00.123Z"}}`, not},
		{"k TIMESTAMP", "2026-01-01T10:00:00Z", `{"numRecords":3,"minValues":{"k":"2026-01-01T11:00:00.000+01:00"},"maxValues":{"k":"2026-01-01T11:00:00.000+01:00"}}`, may},
		{"k TIMESTAMP", "2026-01-01T10:00:00Z", `{"numRecords":3,"minValues":{"k":"soon"},"maxValues":{"k":"later"}}`, may},
		{"k DECIMAL(18,2)", "1.50", `{"numRecords":3,"minValues":{"k":1.5},"maxValues":{"k":1.50}}`, may},
		{"k DECIMAL(18,2)", "1.50", `{"numRecords":3,"minValues":{"k":1.51},"maxValues":{"k":2}}`, not},
		{"k DECIMAL(18,2)", "99999999999999.99", `{"numRecords":3,"minValues":{"k":99999999999999.98},"maxValues":{"k":99999999999999.98}}`, may}, // a floating-point number by delta-rs
		{"k DECIMAL(38,0)", "12345678901234567890", `{"numRecords":3,"minValues":{"k":1.2345678901234567e19},"maxValues":{"k":1.2345678901234567e19}}`, may},
		{"k BOOLEAN", "true", `{"numRecords":3,"nullCount":{"k":0}}`, may},
		{"k BINARY", "eA==", `{"numRecords":3,"nullCount":{"k":0}}`, may},
	} {
		b := keysOf(t, test.ddl, test.key)
		target := &Target{Schema: recordOf(t, test.ddl).Schema(), Batch: b}
		if got := target.MayHold(&action.Add{Stats: test.stats}); got != test.want {
			t.Errorf("%s %s in %s: %v", test.ddl, test.key, test.stats, got)
		}
	}
}

// TestNoKeyOfAFileIsPassedOver: of files of all types of keys, with the statistics that we write, every key is found again, by the log and by the footers.
func TestNoKeyOfAFileIsPassedOver(t *testing.T) {
	long := strings.Repeat("ä", 40)
	for ddl, values := range map[string][]string{
		"k TINYINT":       {"-128", "-1", "0", "127", "-"},
		"k BIGINT":        {"-9223372036854775808", "0", "9223372036854775807", "-"},
		"k STRING":        {"''", "a", long, long + "x", strings.Repeat("\U0010ffff", 40), "-"},
		"k BINARY":        {"eA==", "AAA=", "-"},
		"k DATE":          {"0001-01-01", "2026-01-01", "-"},
		"k TIMESTAMP":     {"1969-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z", "-"},
		"k DECIMAL(10,2)": {"-99999999.99", "0.01", "-"},
		"k DECIMAL(38,0)": {"-12345678901234567890123", "99999999999999999999999999999999999999", "-"},
		"k BOOLEAN":       {"true", "false", "-"},
	} {
		for i := range values {
			for j := range values {
				store := mem.New()
				rec := recordOf(t, ddl, values[i], values[j])
				stage := datafile.NewStage(store, datafile.Spec{
					Name: datafile.Name{Prefix: "part", Owner: "o", Attempt: ident.NewAttempt()}, Schema: rec.Schema(),
				})
				if err := stage.Write(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
				files, err := stage.Finish(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, value := range []string{values[i], values[j]} {
					target := &Target{Store: store, Schema: rec.Schema(), Batch: keysOf(t, ddl, value), Alloc: memory.DefaultAllocator}
					held, err := target.Holding(t.Context(), files)
					if err != nil {
						t.Fatal(err)
					}
					if !target.MayHold(files[0]) || len(held) != 1 {
						t.Errorf("%s: the key %q is not found in a file with it: %s", ddl, value, fmt.Sprint(target.MayHold(files[0]), len(held)))
					}
				}
			}
		}
	}
}

package checker

import (
	"path/filepath"
	"testing"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
)

// local is a folder as a store.
func local(t *testing.T, path string) objstore.Store {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := localfs.New(abs, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTablesOfSparkBreakNoRule(t *testing.T) {
	for _, name := range []string{"c_types", "c_types_ntz", "c_log_truncated", "c_multipart_checkpoint", "c_v2_checkpoint", "c_deletion_vectors", "c_column_mapping"} {
		t.Run(name, func(t *testing.T) {
			r, err := Check(t.Context(), Input{Table: local(t, "../table/testdata/spark/"+name+"/table")})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			t.Logf("%+v", r)
		})
	}
}

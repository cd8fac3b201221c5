package localfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkPutIfAbsent is the cost of one log entry; BenchmarkBareSyncedWrite is what the disk asks for it.
func BenchmarkPutIfAbsent(b *testing.B) {
	s := openBench(b)
	data := make([]byte, 2_000)
	for i := 0; b.Loop(); i++ {
		if err := s.PutIfAbsent(b.Context(), fmt.Sprintf("offsets/%d", i), data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareSyncedWrite(b *testing.B) {
	dir := b.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	data := make([]byte, 2_000)
	for i := 0; b.Loop(); i++ {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.Write(data)
		if err != nil || f.Sync() != nil || f.Close() != nil || d.Sync() != nil {
			b.Fatal("bare write", err)
		}
	}
}

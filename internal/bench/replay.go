package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"microbatch/internal/bench/report"
)

// replay writes the files that batches left once more, each with the synced steps that make it durable, and returns the milliseconds a batch: for data files
// and log entries apart, the median of one times how many a batch has.
func replay(dir string, batches int) (float64, error) {
	files, err := written(dir)
	if err != nil {
		return 0, err
	}
	target, err := os.MkdirTemp(filepath.Dir(dir), "bare-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(target)
	var data, entries []float64
	for i, f := range files {
		path := filepath.Join(target, fmt.Sprintf("%06d", i))
		write, times := writeLinked, &entries
		if strings.HasSuffix(f.name, ".parquet") {
			write, times = writeRenamed, &data
		}
		begin := time.Now()
		if err := write(path, f.content); err != nil {
			return 0, err
		}
		*times = append(*times, float64(time.Since(begin).Microseconds())/1000)
	}
	var ms float64
	for _, times := range [][]float64{data, entries} {
		if len(times) > 0 {
			ms += report.Median(times) * float64(len(times)) / float64(batches)
		}
	}
	return ms, nil
}

type file struct {
	name    string
	content []byte
}

// written are the files of table and checkpoint.
func written(dir string) ([]file, error) {
	var out []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "pipeline.yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		out = append(out, file{d.Name(), content})
		return err
	})
	return out, err
}

// writeRenamed writes a data file: temporary name, sync, rename, sync of the folder.
func writeRenamed(path string, content []byte) error {
	if err := writeSynced(path+".tmp", content); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	return syncFolder(path)
}

// writeLinked writes an entry of a log, which must not be there yet: temporary name, sync, link, sync of the folder, unlink.
func writeLinked(path string, content []byte) error {
	if err := writeSynced(path+".tmp", content); err != nil {
		return err
	}
	if err := os.Link(path+".tmp", path); err != nil {
		return err
	}
	if err := syncFolder(path); err != nil {
		return err
	}
	return os.Remove(path + ".tmp")
}

func writeSynced(path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Batches per run of small ones, of which the first is left out: it creates the table.
const (
	smallBatches = 60
	smallRows    = 1000
)

// measureSmall times batches of 1,000 rows and batches of none, and the bare synced writes that such a batch consists of.
func measureSmall(ctx context.Context, b *bench) ([]Result, error) {
	var full, empty, bare []float64
	for range b.rounds {
		dir, times, err := b.smallBatches(ctx, smallRows)
		if err != nil {
			return nil, err
		}
		full = append(full, median(times))
		writes, err := replay(dir, smallBatches)
		if err != nil {
			return nil, err
		}
		bare = append(bare, writes)
		if _, times, err = b.smallBatches(ctx, 0); err != nil {
			return nil, err
		}
		empty = append(empty, median(times))
	}
	beyond := func(ours, bare float64) float64 { return ours - bare }
	r := compared("a batch of 1,000 rows on local disk, ms beyond its bare synced writes", "ms", full, bare, beyond, atMost(10))
	return []Result{r, alone("a batch without rows on local disk", "ms", empty, nil)}, nil
}

// smallBatches runs batches of one small file each and returns the milliseconds that each took.
func (b *bench) smallBatches(ctx context.Context, rows int) (string, []float64, error) {
	in, err := b.fresh("small-in")
	if err != nil {
		return "", nil, err
	}
	g := newGenerator(2)
	for i := range smallBatches + 1 {
		var text []byte
		for range rows {
			text = g.append(text)
		}
		if rows == 0 { // a file without rows
			text = []byte("\n")
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%04d.ndjson", in, i), text, 0o644); err != nil {
			return "", nil, err
		}
	}
	dir, err := b.fresh("small-out")
	if err != nil {
		return "", nil, err
	}
	_, batches, err := b.start(ctx, dir, fileToTable(in, dir, "trigger: {every: 0s, max_files: 1}\n"), int64(rows)*(smallBatches+1))
	if err != nil {
		return "", nil, err
	}
	if len(batches) != smallBatches+1 {
		return "", nil, fmt.Errorf("%d batches, not %d", len(batches), smallBatches+1)
	}
	var times []float64
	for _, p := range batches[1:] {
		times = append(times, p.total())
	}
	return dir, times, nil
}

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
			ms += median(times) * float64(len(times)) / float64(batches+1)
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

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"microbatch/internal/bench/report"
)

// smallRows are the rows of a small batch.
const smallRows = 1000

// measureSmall times batches of 1,000 rows and batches of none, and the bare synced writes that such a batch consists of.
func measureSmall(ctx context.Context, b *bench) ([]report.Samples, error) {
	var beyond, mean, empty report.Samples
	batches := b.size(60, 10)
	for range b.rounds {
		w, err := b.newFeed("small", smallRows)
		if err != nil {
			return nil, err
		}
		_, done, err := w.run(ctx, b, batches)
		if err != nil {
			return nil, err
		}
		bare, err := replay(w.dir, batches+1)
		if err != nil {
			return nil, err
		}
		ms := report.Median(totals(done))
		b.say("  ours %.2f ms, bare writes %.2f ms", ms, bare)
		beyond.Add(ms, bare)
		mean.Ours = append(mean.Ours, apart(done))
		if w, err = b.newFeed("small-empty", 0); err != nil {
			return nil, err
		}
		if _, done, err = w.run(ctx, b, batches); err != nil {
			return nil, err
		}
		empty.Ours = append(empty.Ours, report.Median(totals(done)))
	}
	return []report.Samples{beyond, mean, empty}, b.removeAll("small", "small-empty")
}

// A feed is a folder of small files, each of which is a batch, and the table they go to.
type feed struct {
	in, dir string
	rows    int // of a file
	files   int // so far
	gen     *generator
	sink    string // further keys of the table
}

// newFeed is a feed with nothing in it.
func (b *bench) newFeed(name string, rows int) (*feed, error) {
	dir, err := b.fresh(name)
	if err != nil {
		return nil, err
	}
	f := &feed{in: filepath.Join(dir, "in"), dir: filepath.Join(dir, "out"), rows: rows, gen: newGenerator(2)}
	for _, d := range []string{f.in, f.dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// add puts files into the folder.
func (f *feed) add(files int) error {
	for range files {
		var text []byte
		for range f.rows {
			text = f.gen.append(text)
		}
		if f.rows == 0 { // a file without rows
			text = []byte("\n")
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%06d.ndjson", f.in, f.files), text, 0o644); err != nil {
			return err
		}
		f.files++
	}
	return nil
}

func (f *feed) pipeline() pipeline {
	return pipeline{source: files(f.in), format: "json", schema: eventsDDL, table: f.dir + "/table", sink: f.sink, trigger: "max_files: 1"}
}

// run takes one file more than batches and returns what these reported, without the first: it opens, or creates, the table.
func (f *feed) run(ctx context.Context, b *bench, batches int) (usage, []progress, error) {
	if err := f.add(batches + 1); err != nil {
		return usage{}, nil, err
	}
	u, done, err := b.start(ctx, f.dir, f.pipeline(), int64(f.rows*(batches+1)))
	if err != nil {
		return u, nil, err
	}
	if len(done) != batches+1 {
		return u, nil, fmt.Errorf("%d batches, not %d", len(done), batches+1)
	}
	return u, done[1:], nil
}

// apart is the time from the begin of one batch to the begin of the next, in milliseconds: the mean, with all that happens between batches.
func apart(batches []progress) float64 {
	first, last := batches[0], batches[len(batches)-1]
	return float64(last.Timestamp.Sub(first.Timestamp).Microseconds()) / 1000 / float64(len(batches)-1)
}

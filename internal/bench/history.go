package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"microbatch/internal/bench/report"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// A history is what a table has seen: versions of some files each.
type history struct{ versions, files int }

// histories are what is compared; the first is the young table that the others are held against.
func (b *bench) histories() []history {
	if b.quick {
		return []history{{10, 1}, {50, 1}, {200, 1}, {10, 100}}
	}
	return []history{{10, 1}, {1000, 1}, {20_000, 1}, {100, 1000}}
}

// measureHistory times batches of 1,000 rows on tables of a format with longer and longer histories, in turns.
func measureHistory(format translog.Format) measure {
	return func(ctx context.Context, b *bench) ([]report.Samples, error) {
		var feeds []*feed
		for i, h := range b.histories() {
			f, err := b.oldTable(ctx, fmt.Sprintf("history-%d", i), format, h)
			if err != nil {
				return nil, err
			}
			feeds = append(feeds, f)
		}
		out := make([]report.Samples, 3*(len(feeds)-1))
		for range b.rounds {
			var young [3]float64
			for i, f := range feeds {
				u, done, err := f.run(ctx, b, b.size(200, 10))
				if err != nil {
					return nil, err
				}
				figures := [3]float64{report.Median(totals(done)), apart(done), float64(u.peak) / 1e6}
				b.say("  %v: median %.2f ms, mean %.2f ms, %.0f MB", b.histories()[i], figures[0], figures[1], figures[2])
				if i == 0 {
					young = figures
					continue
				}
				for k := range figures {
					out[3*(i-1)+k].Add(figures[k], young[k])
				}
			}
		}
		return out, b.removeAll("history-0", "history-1", "history-2", "history-3")
	}
}

// oldTable is a feed whose table was made by the program, and then given a history by the table's own writer.
func (b *bench) oldTable(ctx context.Context, name string, format translog.Format, h history) (*feed, error) {
	f, err := b.newFeed(name, smallRows)
	if err != nil {
		return nil, err
	}
	f.sink = fmt.Sprintf("format: %s", format)
	if err := f.add(1); err != nil {
		return nil, err
	}
	if _, _, err := b.start(ctx, f.dir, f.pipeline(), smallRows); err != nil {
		return nil, err
	}
	b.say("  writing %d versions of %d files (%s)", h.versions, h.files, format)
	return f, h.write(ctx, filepath.Join(f.dir, "table"))
}

// linksOfAFile is how many names a file is given: file systems allow 65,000.
const linksOfAFile = 50_000

// write commits the history to a table: its one file again and again, under new names that are links to it.
func (h history) write(ctx context.Context, dir string) error {
	t, files, err := openTable(ctx, dir)
	if err != nil {
		return err
	}
	links := linker{dir: dir, from: files[0].Path}
	for range h.versions {
		actions := make([]action.Action, h.files)
		for i := range actions {
			add := *files[0]
			if add.Path, err = links.next(); err != nil {
				return err
			}
			actions[i] = action.Action{Add: &add}
		}
		blind := true
		info := action.CommitInfo{Operation: "WRITE", OperationParameters: map[string]any{"mode": "Append"}, BlindAppend: &blind, EngineInfo: table.Engine}
		if _, err := t.Commit(ctx, t.Snapshot(), translog.Change{Info: info, Actions: actions}); err != nil {
			return err
		}
		if _, err := t.Checkpoint(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A linker gives a file further names.
type linker struct {
	dir, from string
	made      int
}

func (l *linker) next() (string, error) {
	l.made++
	name := fmt.Sprintf("part-history-%07d.snappy.parquet", l.made)
	if l.made%linksOfAFile != 0 {
		return name, os.Link(filepath.Join(l.dir, l.from), filepath.Join(l.dir, name))
	}
	content, err := os.ReadFile(filepath.Join(l.dir, l.from))
	if err != nil {
		return "", err
	}
	l.from = name
	return name, os.WriteFile(filepath.Join(l.dir, name), content, 0o644)
}

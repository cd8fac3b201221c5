package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"microbatch/internal/bench/report"
)

// A copying is what rounds of a file to a table, by us and by DuckDB, have taken.
type copying struct {
	seconds, cpu, megabytes, peak report.Samples
}

// copy takes rounds of both sides in turns. A round before them warms the page cache; what it wrote is compared.
func (b *bench) copy(ctx context.Context, in input) (copying, error) {
	var out copying
	from, err := in.make(ctx, b)
	if err != nil {
		return out, err
	}
	for round := range b.rounds + 1 {
		us, ours, err := b.copyByUs(ctx, in, from)
		if err != nil {
			return out, err
		}
		dir, err := b.fresh("copy-peer")
		if err != nil {
			return out, err
		}
		them, err := b.copyByDuckDB(ctx, in, from, dir)
		if err != nil {
			return out, err
		}
		theirs, err := parquetBytes(dir)
		if err != nil {
			return out, err
		}
		if round == 0 {
			if err := sameRows(ctx, in.hash, b.dir+"/copy-ours/table/**/*.parquet", b.dir+"/copy-peer/**/*.parquet"); err != nil {
				return out, err
			}
			continue
		}
		b.say("  round %d: ours %.3f s, %.2f CPU s, DuckDB %.3f s, %.2f CPU s", round, us.wall.Seconds(), us.cpu.Seconds(), them.wall.Seconds(), them.cpu.Seconds())
		out.seconds.Add(us.wall.Seconds(), them.wall.Seconds())
		out.cpu.Add(us.cpu.Seconds(), them.cpu.Seconds())
		out.megabytes.Add(float64(ours)/1e6, float64(theirs)/1e6)
		out.peak.Add(float64(us.peak)/1e6, float64(them.peak)/1e6)
	}
	return out, b.removeAll("copy-ours", "copy-peer")
}

func (b *bench) removeAll(names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyByUs runs the program once and returns the bytes of the table's files too.
func (b *bench) copyByUs(ctx context.Context, in input, from string) (usage, int64, error) {
	dir, err := b.fresh("copy-ours")
	if err != nil {
		return usage{}, 0, err
	}
	p := pipeline{source: files(from), format: in.format, schema: in.schema, table: dir + "/table"}
	if in.partitionBy != "" {
		p.sink = "partition_by: [" + in.partitionBy + "]"
	}
	if in.query != "" {
		p.transform = "[{sql: \"" + in.query + "\"}]"
	}
	u, _, err := b.start(ctx, dir, p, int64(in.count(b)))
	if err != nil {
		return u, 0, err
	}
	size, err := parquetBytes(filepath.Join(dir, "table"))
	return u, size, err
}

// measurePlain gives all rows of the plain file.
func measurePlain(ctx context.Context, b *bench) ([]report.Samples, error) {
	c, err := b.copy(ctx, plain())
	return []report.Samples{c.seconds, c.cpu, c.megabytes, c.peak}, err
}

// measureInput gives time and processor time of another file.
func measureInput(in input) measure {
	return func(ctx context.Context, b *bench) ([]report.Samples, error) {
		c, err := b.copy(ctx, in)
		return []report.Samples{c.seconds, c.cpu}, err
	}
}

// measureShape gives rows a second and memory of unlike rows.
func measureShape(in input) measure {
	return func(ctx context.Context, b *bench) ([]report.Samples, error) {
		c, err := b.copy(ctx, in)
		return []report.Samples{rates(c.seconds, in.count(b)), {Ours: c.peak.Ours}}, err
	}
}

// rates are rows a second, of seconds.
func rates(seconds report.Samples, rows int) report.Samples {
	var out report.Samples
	for i := range seconds.Ours {
		out.Add(float64(rows)/seconds.Ours[i], float64(rows)/seconds.Peer[i])
	}
	return out
}

// parquetBytes is the size of all data files below a folder.
func parquetBytes(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

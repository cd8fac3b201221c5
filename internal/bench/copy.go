package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"microbatch/internal/duck"
)

// measureCopy compares NDJSON file to table with DuckDB's COPY of the same file, snappy on both sides.
func measureCopy(ctx context.Context, b *bench) ([]Result, error) {
	in, err := b.events(b.rows)
	if err != nil {
		return nil, err
	}
	var ours, peer struct{ seconds, cpu, bytes, peak []float64 }
	for round := range b.rounds + 1 {
		us, size, err := b.copyByUs(ctx, in)
		if err != nil {
			return nil, err
		}
		them, err := b.copyByDuckDB(ctx, in)
		if err != nil {
			return nil, err
		}
		if round == 0 { // it warms the page cache
			if err := b.sameRows(ctx); err != nil {
				return nil, err
			}
			continue
		}
		ours.seconds, peer.seconds = append(ours.seconds, us.wall.Seconds()), append(peer.seconds, them.statement.Seconds())
		ours.cpu, peer.cpu = append(ours.cpu, us.cpu.Seconds()), append(peer.cpu, them.cpu.Seconds())
		ours.bytes, peer.bytes = append(ours.bytes, float64(size)/1e6), append(peer.bytes, float64(them.size)/1e6)
		ours.peak, peer.peak = append(ours.peak, float64(us.peak)/1e6), append(peer.peak, float64(them.peak)/1e6)
	}
	faster := func(ours, peer float64) float64 { return peer / ours }
	larger := func(ours, peer float64) float64 { return ours / peer }
	return []Result{
		compared("NDJSON file to table, against DuckDB's COPY", "s", ours.seconds, peer.seconds, faster, atLeast(1.2)),
		compared("the same, processor time", "CPU s", ours.cpu, peer.cpu, faster, nil),
		compared("the same, bytes of Parquet", "MB", ours.bytes, peer.bytes, larger, atMost(1.1)),
		compared("the same, peak memory", "MB", ours.peak, peer.peak, larger, nil),
	}, nil
}

// events is a folder with one file of rows.
func (b *bench) events(rows int) (string, error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("events-%d", rows))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	_, err := writeEvents(filepath.Join(dir, "events.ndjson"), rows)
	return dir, err
}

func (b *bench) copyByUs(ctx context.Context, in string) (usage, int64, error) {
	dir, err := b.fresh("copy-ours")
	if err != nil {
		return usage{}, 0, err
	}
	u, _, err := b.start(ctx, dir, fileToTable(in, dir, ""), int64(b.rows))
	if err != nil {
		return u, 0, err
	}
	size, err := parquetBytes(filepath.Join(dir, "table"))
	return u, size, err
}

// fileToTable is a pipeline from a folder of NDJSON to a table in another folder.
func fileToTable(in, out, trigger string) string {
	return fmt.Sprintf("name: bench\nsource:\n  files: {path: %q}\n  format: json\n  schema: %s\nsink:\n  table: {path: %q, compression: snappy}\n%s",
		in, eventsDDL, out+"/table", trigger)
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

type duckdbUsage struct {
	usage
	statement time.Duration // the COPY alone
	size      int64
}

// duckdbCopyCommand is the hidden command by which this program is DuckDB's process.
const duckdbCopyCommand = "duckdb-copy"

func (b *bench) copyByDuckDB(ctx context.Context, in string) (duckdbUsage, error) {
	dir, err := b.fresh("copy-duckdb")
	if err != nil {
		return duckdbUsage{}, err
	}
	out := filepath.Join(dir, "out.parquet")
	u, err := child(ctx, dir, b.self, duckdbCopyCommand, filepath.Join(in, "events.ndjson"), out)
	if err != nil {
		return duckdbUsage{}, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(u.stdout)), 10, 64)
	if err != nil {
		return duckdbUsage{}, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return duckdbUsage{}, err
	}
	return duckdbUsage{usage: u, statement: time.Duration(ns), size: info.Size()}, nil
}

// sameRows makes sure that both sides have written the same: by the number of rows and the sum of their hashes.
func (b *bench) sameRows(ctx context.Context) error {
	s, err := duck.Open(duck.Config{Threads: 2, Files: true})
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	digest := func(glob string) (string, error) {
		return c.Text(ctx, fmt.Sprintf("SELECT concat(count(*), ' rows, hash ', sum(hash(id, epoch_us(ts), user_id, event, country, amount, url, session))) FROM read_parquet(%s)",
			duck.Literal(filepath.Join(b.dir, glob))))
	}
	ours, err := digest("copy-ours/table/**/*.parquet")
	if err != nil {
		return err
	}
	theirs, err := digest("copy-duckdb/out.parquet")
	if err == nil && ours != theirs {
		err = fmt.Errorf("we wrote %s, DuckDB wrote %s", ours, theirs)
	}
	return err
}

// duckdbCopy copies an NDJSON file to a Parquet file by DuckDB and prints the nanoseconds that the statement took.
func duckdbCopy(ctx context.Context, args []string) error {
	s, err := duck.Open(duck.Config{MemoryLimit: 8 << 30, Threads: 2, Files: true})
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Exec(ctx, "SET preserve_insertion_order = false"); err != nil {
		return err
	}
	begin := time.Now()
	err = c.Exec(ctx, fmt.Sprintf("COPY (SELECT * FROM read_json(%s, format = 'newline_delimited', columns = {%s})) TO %s (FORMAT parquet, COMPRESSION snappy)",
		duck.Literal(args[0]), eventsDuckDB, duck.Literal(args[1])))
	fmt.Println(time.Since(begin).Nanoseconds())
	return err
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"microbatch/internal/duck"
)

// duckdbCommand is the hidden command by which this program is DuckDB's process.
const duckdbCommand = "duckdb"

// duckdbMain runs a statement and prints the nanoseconds that it took.
func duckdbMain(ctx context.Context, args []string) error {
	return inDuckDB(ctx, 8<<30, func(c *duck.Conn) error {
		if err := c.Exec(ctx, "SET preserve_insertion_order = false"); err != nil {
			return err
		}
		begin := time.Now()
		err := c.Exec(ctx, args[0])
		fmt.Println(time.Since(begin).Nanoseconds())
		return err
	})
}

// inDuckDB connects to a DuckDB in this process.
func inDuckDB(ctx context.Context, memory int64, do func(*duck.Conn) error) error {
	s, err := duck.Open(duck.Config{MemoryLimit: memory, Threads: 2, Files: true})
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// duckdb runs a statement in a process of its own; wall is the time of the statement alone.
func (b *bench) duckdb(ctx context.Context, dir, statement string) (usage, error) {
	u, err := b.child(ctx, dir, b.self, duckdbCommand, statement)
	if err != nil {
		return usage{}, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(u.stdout)), 10, 64)
	u.wall = time.Duration(ns)
	return u, err
}

// copyByDuckDB is the peer of a file to a table: a COPY of the same rows to Parquet below a folder.
func (b *bench) copyByDuckDB(ctx context.Context, in input, from, dir string) (usage, error) {
	rows := "FROM " + in.reader(filepath.Join(from, in.file))
	if in.query != "" {
		rows = fmt.Sprintf("WITH batch AS (%s) %s", rows, in.query)
	}
	to, options := filepath.Join(dir, "out.parquet"), "FORMAT parquet, COMPRESSION snappy"
	if in.partitionBy != "" {
		to, options = filepath.Join(dir, "out"), options+fmt.Sprintf(", PARTITION_BY (%s)", in.partitionBy)
	}
	return b.duckdb(ctx, dir, fmt.Sprintf("COPY (%s) TO %s (%s)", rows, duck.Literal(to), options))
}

// sameRows makes sure that the Parquet files of two globs hold the same: by the number of rows and the sum of their hashes.
func sameRows(ctx context.Context, columns, ours, theirs string) error {
	return inDuckDB(ctx, 4<<30, func(c *duck.Conn) error {
		digest := func(glob string) (string, error) {
			return c.Text(ctx, fmt.Sprintf("SELECT concat(count(*), ' rows, hash ', sum(hash(%s))) FROM read_parquet(%s)", columns, duck.Literal(glob)))
		}
		a, err := digest(ours)
		if err != nil {
			return fmt.Errorf("our rows: %w", err)
		}
		b, err := digest(theirs)
		if err != nil {
			return fmt.Errorf("the peer's rows: %w", err)
		}
		if a != b {
			return fmt.Errorf("we wrote %s, the peer wrote %s", a, b)
		}
		return nil
	})
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"microbatch/internal/bench/report"
	"microbatch/internal/duck"
	"microbatch/objstore/localfs"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// openLogCommand is the hidden command that lists and opens a table's log and counts its files.
const openLogCommand = "open-log"

func openLogMain(ctx context.Context, args []string) error {
	_, files, err := openTable(ctx, args[0])
	fmt.Println(len(files))
	return err
}

// openTable opens a table on disk and lists its files.
func openTable(ctx context.Context, dir string) (*table.Table, []*action.Add, error) {
	store, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		return nil, nil, err
	}
	t, err := table.Open(ctx, store, table.Options{})
	if err != nil {
		return nil, nil, err
	}
	files, err := t.Snapshot().Files(ctx)
	return t, files, err
}

// measureQuery times a query that wants one row of a table of many files, from exec to exit, against a process that only reads the table's log.
func measureQuery(ctx context.Context, b *bench) ([]report.Samples, error) {
	f, err := b.oldTable(ctx, "query", translog.Delta, history{versions: 100, files: b.size(1000, 10)})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(f.dir, "table")
	sql := fmt.Sprintf("SELECT * FROM %s LIMIT 1", duck.Literal(dir))
	var seconds, peak report.Samples
	for round := range b.rounds + 1 {
		ours, err := b.child(ctx, f.dir, b.binary, "query", sql, "--format", "json")
		if err != nil {
			return nil, err
		}
		if rows := strings.Count(string(ours.stdout), `"session"`); rows != 1 {
			return nil, fmt.Errorf("the query gave %d rows: %.200s", rows, ours.stdout)
		}
		bare, err := b.child(ctx, f.dir, b.self, openLogCommand, dir)
		if err != nil {
			return nil, err
		}
		if round == 0 { // it warms the page cache
			continue
		}
		b.say("  query %.3f s, log alone %.3f s", ours.wall.Seconds(), bare.wall.Seconds())
		seconds.Add(ours.wall.Seconds(), bare.wall.Seconds())
		peak.Add(float64(ours.peak)/1e6, float64(bare.peak)/1e6)
	}
	return []report.Samples{seconds, peak}, b.removeAll("query")
}

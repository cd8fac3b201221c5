package main

import (
	"context"
	"fmt"
	"regexp"

	"microbatch/internal/bench/report"
	"microbatch/table/translog"
)

// A measure gives the samples of a workload's rows, in their order.
type measure func(context.Context, *bench) ([]report.Samples, error)

// A workload is measured as a whole and fills some rows of the report.
type workload struct {
	report.Section
	peers   bool // its peer needs a JVM
	measure measure
}

func (w workload) matches(only *regexp.Regexp) bool {
	for _, r := range w.Rows {
		if only.MatchString(r.Name) {
			return true
		}
	}
	return only.MatchString(w.Name)
}

func sections() []report.Section {
	var out []report.Section
	for _, w := range workloads() {
		out = append(out, w.Section)
	}
	return out
}

// workloads is the table of all that is measured.
func workloads() []workload {
	all := []workload{{
		Section: report.Section{Name: "NDJSON file to table", Group: "Files to table, against DuckDB",
			About: "A file of 200-byte rows with 8 typed columns to a table, `--once`, exactly once; DuckDB: `COPY (FROM read_json(...)) TO ... (FORMAT parquet)`. Then the same rows in other dress, one file each; DuckDB reads the same file.",
			Rows: []report.Row{
				{Name: "NDJSON file to table", Unit: "s", Ratio: report.PeerByOurs, Required: report.AtLeast(2.5), Aim: report.AtLeast(3.5), Chart: "files", Label: "NDJSON"},
				{Name: "NDJSON file to table, processor time", Unit: "CPU s", Ratio: report.PeerByOurs},
				{Name: "NDJSON file to table, bytes of Parquet", Unit: "MB", Ratio: report.OursByPeer, Required: report.AtMost(1.1)},
				{Name: "NDJSON file to table, peak memory", Unit: "MB", Ratio: report.OursByPeer},
			}},
		measure: measurePlain,
	}}
	for _, v := range []struct {
		name string
		in   input
	}{
		{"NDJSON, keys in another order in every row", events("shuffled", "events.ndjson", shuffled)},
		{"NDJSON, escapes in every string", events("escaped", "events.ndjson", escaped)},
		{"NDJSON, a third of the fields null or missing", events("nullable", "events.ndjson", nullable)},
		{"NDJSON, nested columns", nestedInput()},
		{"NDJSON in .gz", events("gz", "events.ndjson.gz", (*generator).append)},
		{"NDJSON in .zst", events("zst", "events.ndjson.zst", (*generator).append)},
		{"CSV", csvInput()},
		{"Parquet", parquetInput()},
	} {
		all = append(all, fileWorkload(v.name, v.in))
	}
	for _, v := range []struct {
		name string
		in   input
	}{
		{"200 columns", wideInput()},
		{"strings of 100 KB", longInput()},
		{"structs 12 deep", deepInput()},
		{"1,000 partitions in one batch", bucketedInput()},
	} {
		all = append(all, shapeWorkload(v.name, v.in))
	}
	all = append(all, batchWorkloads()...)
	all = append(all, sinkWorkloads()...)
	return append(all, sparkWorkloads()...)
}

// fileWorkload is the plain workload with another file.
func fileWorkload(name string, in input) workload {
	return workload{
		Section: report.Section{Name: name, Group: "Files to table, against DuckDB", Rows: []report.Row{
			{Name: name, Unit: "s", Ratio: report.PeerByOurs, Required: report.AtLeast(1), Aim: report.AtLeast(2), Chart: "files"},
			{Name: name + ", processor time", Unit: "CPU s", Ratio: report.PeerByOurs},
		}},
		measure: measureInput(in),
	}
}

// shapeWorkload is unlike rows: no cliff in rows a second, and memory that is bounded.
func shapeWorkload(name string, in input) workload {
	return workload{
		Section: report.Section{Name: name, Group: "Unusual rows", About: "NDJSON rows of an unusual shape to a table; DuckDB copies the same file, for comparison.", Rows: []report.Row{
			{Name: name + ", rows", Unit: "rows/s", Ratio: report.OursByPeer},
			{Name: name + ", peak memory", Unit: "MB", Required: report.AtMost(500), Chart: "memory", Label: name},
		}},
		measure: measureShape(in),
	}
}

// batchWorkloads are those of many batches, and of Kafka.
func batchWorkloads() []workload {
	memory := report.Section{Name: "Memory by size of a batch", Group: "Memory by size of a batch", About: "The NDJSON file in batches of at most so many rows."}
	for _, limit := range batchSizes() {
		memory.Rows = append(memory.Rows, report.Row{Name: fmt.Sprintf("peak memory at max_rows %d", limit), Unit: "MB", Required: report.AtMost(300), Chart: "memory", Label: fmt.Sprintf("max_rows: %d", limit)})
	}
	return []workload{
		{Section: memory, measure: measureMemory},
		{Section: report.Section{Name: "sql transform", Group: "Sql transform", About: "The NDJSON file with a step `sql: " + transformSQL + "`, against the same without it.", Rows: []report.Row{
			{Name: "sql transform, rows", Unit: "rows/s", Ratio: report.OursByPeer, Required: report.AtLeast(0.7)},
			{Name: "sql transform, processor time", Unit: "CPU s", Ratio: report.OursByPeer},
		}}, measure: measureTransform},
		{Section: report.Section{Name: "Small batches on local disk", Group: "Small batches", About: "Files of 1,000 rows, each a batch, back to back, to a table; against the synced writes of the same files. On MinIO: from Kafka to a Delta table and a checkpoint; against 4 bare put-if-absents of 2 KB, one after the other.", Rows: []report.Row{
			{Name: "1,000-row batch on local disk, beyond its own synced writes", Unit: "ms", Ratio: report.OursMinusPeer, Required: report.AtMost(2)},
			{Name: "1,000-row batch on local disk, from begin to begin", Unit: "ms"},
			{Name: "empty batch on local disk", Unit: "ms"},
		}}, measure: measureSmall},
		{Section: report.Section{Name: "Small batches on MinIO", Group: "Small batches", Rows: []report.Row{
			{Name: "1,000-row batch on MinIO, beyond 4 round trips", Unit: "ms", Ratio: report.OursMinusPeer, Required: report.AtMost(3)},
			{Name: "1,000-row batch on MinIO, from begin to begin", Unit: "ms"},
			{Name: "share of the store's own latency in a batch on MinIO", Unit: "%"},
		}}, measure: measureMinIO},
		historyWorkload(translog.Delta), historyWorkload(translog.Parquet),
		{Section: report.Section{Name: "Start after a crash", Group: "Start after a crash", About: "A query with 20,000 batches behind it is killed in the middle of a batch and started again: from exec to the end of the first new batch.", Rows: []report.Row{
			{Name: "start after a crash with 20,000 batches of history", Unit: "s", Required: report.AtMost(2)},
		}}, measure: measureCrash},
		{Section: report.Section{Name: "query on 100,000 files", Group: "Query on 100,000 files", About: "`microbatch query \"SELECT * FROM '...' LIMIT 1\"`, from exec to exit; against a process that lists and opens the table's log.", Rows: []report.Row{
			{Name: "query, first row of 100,000 files", Unit: "s", Ratio: report.OursByPeer, Required: report.AtMost(1.5)},
			{Name: "query, peak memory", Unit: "MB", Ratio: report.OursByPeer},
		}}, measure: measureQuery},
		{Section: report.Section{Name: "Kafka to Delta table", Group: "Kafka to Delta table", About: "JSON of 200 bytes from a real broker (4 partitions) to a Delta table; against fetching and unpacking, decoding, and encoding the same rows, each alone, added up; beside it fetching without unpacking.", Rows: []report.Row{
			{Name: "Kafka to delta, against the roofline", Unit: "rows/s", Ratio: report.OursByPeer, Required: report.AtLeast(0.75), Aim: report.AtLeast(0.9)},
			{Name: "Kafka to delta, against fetching alone", Unit: "rows/s", Ratio: report.OursByPeer},
			{Name: "Kafka to delta, per processor second, against the bare steps", Unit: "rows/CPU s", Ratio: report.OursByPeer},
			{Name: "Kafka to delta, start to exit", Unit: "rows/s"},
			{Name: "Kafka to delta, peak memory", Unit: "MB", Required: report.AtMost(300), Chart: "memory", Label: "Kafka to delta"},
		}}, measure: measureKafka},
	}
}

func historyWorkload(format translog.Format) workload {
	s := report.Section{Name: fmt.Sprintf("Batches on an old table, format %s", format), Group: "Batches on an old table", About: "Batches of 1,000 rows from files, 200 in a run, on tables with a history; against a table of 10 versions. The mean counts what is done between batches too: log checkpoints."}
	for _, h := range []string{"1,000 versions", "20,000 versions", "100,000 live files"} {
		name := fmt.Sprintf("%s, %s", format, h)
		s.Rows = append(s.Rows,
			report.Row{Name: "batch at " + name, Unit: "ms", Ratio: report.OursByPeer, Required: report.AtMost(1.3), Chart: "batches", Label: name},
			report.Row{Name: "batch at " + name + ", from begin to begin", Unit: "ms", Ratio: report.OursByPeer, Required: report.AtMost(1.3)},
			report.Row{Name: "peak memory at " + name, Unit: "MB", Ratio: report.OursByPeer, Required: report.AtMost(1.3)})
	}
	return workload{Section: s, measure: measureHistory(format)}
}

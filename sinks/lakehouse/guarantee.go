package lakehouse

import (
	"microbatch/guarantee"
	"microbatch/table/translog"
)

// Guarantee is exactly once; what readers of bare files see depends on the format.
func (s *Sink) Guarantee() guarantee.Link {
	l := guarantee.Link{
		Name: s.cfg.Merge.doing() + " the " + s.cfg.Format + " table " + s.cfg.URL, Level: guarantee.ExactlyOnce,
		Reason:  "rows, batch id, digest and epoch become visible in one version of the table's log, and a version is created at most once",
		Visible: "all rows of a batch at once, with its version of the table's log",
	}
	if s.cfg.Format != string(translog.Parquet) {
		l.Readers = []string{"read it as a Delta table (delta_scan, Spark, Trino, `microbatch query`): a glob over its files also sees those of attempts that failed, and those that were replaced"}
		return l
	}
	l.Readers = []string{"readers that must be exact at any moment take the list of files from the log: `microbatch query`, or the DuckDB recipe in docs/formats.md"}
	const glob = "a glob over the folder (read_parquet('**/*.parquet')) "
	switch {
	case s.cfg.Merge.replaces():
		l.Warnings = append(l.Warnings, glob+"also sees rows that were replaced, until vacuum has deleted their files")
	case s.cfg.AllowReplacedFiles:
		l.Warnings = append(l.Warnings, glob+"sees rows twice after optimize, until vacuum has deleted the files that were replaced (allow_replaced_files)")
	case !s.cfg.SweepOff:
		l.Readers = append(l.Readers, glob+"is exact after a clean stop or a finished recovery: files of killed attempts are deleted before the batch is recorded")
	}
	if s.cfg.SweepOff {
		l.Warnings = append(l.Warnings, "sweep is off: files of killed attempts stay until vacuum, and "+glob+"counts their rows too")
	}
	return l
}

// doing says what a batch does to the table.
func (m Merge) doing() string {
	switch {
	case m.Mode == Upsert:
		return "upserting into"
	case m.Mode == Overwrite:
		return "overwriting"
	case m.Mode == OverwritePartitions:
		return "overwriting partitions of"
	case len(m.DeduplicateBy) > 0:
		return "appending what is new to"
	}
	return "appending to"
}

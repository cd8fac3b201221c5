package lakehouse

import (
	"microbatch/guarantee"
	"microbatch/table/translog"
)

// Guarantee is exactly once; what readers of bare files see depends on the format.
func (s *Sink) Guarantee() guarantee.Link {
	l := guarantee.Link{
		Name: "appending to the " + s.cfg.Format + " table " + s.cfg.URL, Level: guarantee.ExactlyOnce,
		Reason:  "rows, batch id, digest and epoch become visible in one version of the table's log, and a version is created at most once",
		Visible: "all rows of a batch at once, with its version of the table's log",
	}
	if s.cfg.Format != string(translog.Parquet) {
		l.Readers = []string{"read it as a Delta table (delta_scan, Spark, Trino, `microbatch query`): a glob over its files also sees those of attempts that failed, and of rewritten versions"}
		return l
	}
	l.Readers = []string{"readers that must be exact at any moment take the list of files from the log: `microbatch query`, or the DuckDB recipe in docs/formats.md"}
	if s.cfg.SweepOff {
		l.Readers = append(l.Readers, "a glob over the folder (read_parquet('**/*.parquet')) may also see files of killed attempts, until vacuum")
		l.Warnings = append(l.Warnings, "sweep is off: files of killed attempts stay in the table's folder until vacuum, and a glob over it counts their rows twice")
	} else {
		l.Readers = append(l.Readers, "a glob over the folder (read_parquet('**/*.parquet')) is exact after a clean stop or a finished recovery: files of killed attempts are deleted before the batch is recorded")
	}
	if s.cfg.AllowReplacedFiles {
		l.Warnings = append(l.Warnings, "allow_replaced_files: a glob over the folder sees rows twice after optimize, until vacuum has deleted the files that were replaced")
	}
	return l
}

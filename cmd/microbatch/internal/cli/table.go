package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"microbatch/schema"
	"microbatch/table"
	"microbatch/table/action"
)

func tableCommand(std IO) *cobra.Command {
	c := &cobra.Command{
		Use:   "table",
		Short: "Look at a table and maintain it",
		Long: `Look at a table and maintain it. The table is named by its path, or by the pipeline file that writes it; left out, by microbatch.yaml.
All of it is safe beside a running query and beside readers.`,
	}
	c.AddCommand(tableShow(std), tableHistory(std), tableFiles(std), tableOptimize(std), tableVacuum(std), tableCheck(std))
	return c
}

// tableInfo is a table for programs.
type tableInfo struct {
	Path        string            `json:"path"`
	Format      string            `json:"format"`
	ID          string            `json:"id"`
	Version     int64             `json:"version"`
	Schema      string            `json:"schema"`
	PartitionBy []string          `json:"partition_by"`
	Properties  map[string]string `json:"properties"`
	Files       int               `json:"files"`
	Bytes       int64             `json:"bytes"`
	Rows        int64             `json:"rows"` // -1 if statistics are missing
	Queries     map[string]int64  `json:"queries"`
}

func tableShow(std IO) *cobra.Command {
	var f storeFlags
	var asJSON bool
	c := &cobra.Command{
		Use:     "show [path | pipeline.yaml]",
		Short:   "Show schema, size and the queries that write to it",
		Example: "  microbatch table show out/events\n  microbatch table show orders.yaml --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, path, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			s := t.Snapshot()
			files, err := s.Files(cmd.Context())
			if err != nil {
				return err
			}
			info := describeTable(path, t, s, files)
			if asJSON {
				return writeJSON(std.Out, info)
			}
			info.text(shown(std.Out))
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

func describeTable(path string, t *table.Table, s *table.Snapshot, files []*action.Add) tableInfo {
	info := tableInfo{
		Path: path, Format: string(t.Format()), ID: s.ID(), Version: s.Version(), Schema: schema.FormatDDL(s.Schema()), PartitionBy: s.PartitionBy(),
		Properties: s.Properties(), Files: len(files), Queries: map[string]int64{},
	}
	if info.PartitionBy == nil {
		info.PartitionBy = []string{}
	}
	for _, f := range files {
		info.Bytes += f.Size
		rows, ok := rowsOf(f)
		if !ok || info.Rows < 0 {
			info.Rows = -1
			continue
		}
		info.Rows += rows
	}
	for app, txn := range s.State().Txns {
		if isQuery(app) {
			info.Queries[app] = txn.Version
		}
	}
	return info
}

// isQuery tells the batch ids of queries from what else is kept as an application's version: digests, epochs and owners.
func isQuery(app string) bool {
	return !strings.Contains(app, "#") && !strings.HasPrefix(app, "microbatch/")
}

// rowsOf is the number of rows of a file, if its statistics say it.
func rowsOf(f *action.Add) (int64, bool) {
	var stats struct {
		Rows *int64 `json:"numRecords"`
	}
	if err := json.Unmarshal([]byte(f.Stats), &stats); err != nil || stats.Rows == nil {
		return 0, false
	}
	return *stats.Rows, true
}

func (t tableInfo) text(out io.Writer) {
	rows := fmt.Sprint(t.Rows)
	if t.Rows < 0 {
		rows = "unknown (files without statistics)"
	}
	partitions := strings.Join(t.PartitionBy, ", ")
	if partitions == "" {
		partitions = "none"
	}
	for _, line := range [][2]string{
		{"table", t.Path}, {"format", t.Format}, {"id", t.ID}, {"version", fmt.Sprint(t.Version)}, {"rows", rows},
		{"files", fmt.Sprintf("%d, %d bytes", t.Files, t.Bytes)}, {"partitions", partitions},
	} {
		fmt.Fprintf(out, "%-11s %s\n", line[0], line[1])
	}
	for _, q := range slices.Sorted(maps.Keys(t.Queries)) {
		fmt.Fprintf(out, "%-11s %s, last batch %d\n", "query", q, t.Queries[q])
	}
	for _, p := range slices.Sorted(maps.Keys(t.Properties)) {
		fmt.Fprintf(out, "%-11s %s = %s\n", "property", p, t.Properties[p])
	}
	fmt.Fprintf(out, "%-11s %s\n", "schema", t.Schema)
}

// commitInfo is a version for programs.
type commitInfo struct {
	Version   int64            `json:"version"`
	Time      time.Time        `json:"time"`
	Operation string           `json:"operation"`
	Engine    string           `json:"engine,omitempty"`
	Added     int              `json:"files_added"`
	Removed   int              `json:"files_removed"`
	Rows      int64            `json:"rows_added"`
	Queries   map[string]int64 `json:"queries,omitempty"`
	// Metrics are what the writer says of its work (operationMetrics): of a MERGE numTargetRowsInserted, numTargetRowsUpdated and numTargetRowsDeleted.
	Metrics map[string]string `json:"metrics,omitempty"`
	// Batch says which batch of which query the version holds, who committed it, and the text of the checkpoint's entry: which input it came from.
	Batch *action.BatchInfo `json:"microbatch,omitempty"`
}

// ends is where the batch ends in its sources: the lines of the entry after its second.
func (i commitInfo) ends() string {
	if i.Batch == nil {
		return ""
	}
	_, rest, _ := strings.Cut(i.Batch.Offsets, "\n")
	_, ends, _ := strings.Cut(rest, "\n")
	return visible(strings.ReplaceAll(ends, "\n", "  "))
}

// by is the epoch and the beginning of the digest.
func (i commitInfo) by() (epoch, digest string) {
	if i.Batch == nil {
		return "", ""
	}
	return fmt.Sprint(i.Batch.Epoch), i.Batch.Digest[:min(12, len(i.Batch.Digest))]
}

func tableHistory(std IO) *cobra.Command {
	var f storeFlags
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use:     "history [path | pipeline.yaml]",
		Short:   "List versions, the newest first, with the batch and the input each holds",
		Example: "  microbatch table history out/events\n  microbatch table history out/events --limit 0 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, _, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			commits, err := t.History(cmd.Context(), limit)
			if err != nil {
				return err
			}
			infos := make([]commitInfo, len(commits))
			for i := range commits {
				c := &commits[i]
				infos[i] = commitInfo{Version: c.Version, Time: c.Time.UTC(), Queries: map[string]int64{}}
				infos[i].Added, infos[i].Removed, infos[i].Rows = c.Files()
				if c.Info != nil {
					infos[i].Operation, infos[i].Engine, infos[i].Batch, infos[i].Metrics = c.Info.Operation, c.Info.EngineInfo, c.Info.Batch, c.Info.OperationMetrics
				}
				for _, a := range c.Actions {
					if t := a.Txn; t != nil && isQuery(t.AppID) {
						infos[i].Queries[t.AppID] = t.Version
					}
				}
			}
			if asJSON {
				return writeJSON(std.Out, infos)
			}
			w := tabwriter.NewWriter(shown(std.Out), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "VERSION\tTIME\tOPERATION\tROWS\tFILES\tBATCH\tEPOCH\tDIGEST\tENDS AT")
			for _, i := range infos {
				var batches []string
				for _, q := range slices.Sorted(maps.Keys(i.Queries)) {
					batches = append(batches, fmt.Sprint(i.Queries[q]))
				}
				epoch, digest := i.by()
				fmt.Fprintf(w, "%d\t%s\t%s\t%d\t+%d -%d\t%s\t%s\t%s\t%s\n", i.Version, i.Time.Format(time.RFC3339), i.Operation, i.Rows, i.Added, i.Removed,
					strings.Join(batches, ", "), epoch, digest, i.ends())
			}
			return w.Flush()
		},
	}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.Flags().IntVar(&limit, "limit", 20, "how many `versions`; 0: all that the log still has")
	return c
}

// fileInfo is a data file for programs.
type fileInfo struct {
	Path       string             `json:"path"`
	Bytes      int64              `json:"bytes"`
	Rows       int64              `json:"rows"` // -1 if unknown
	Modified   time.Time          `json:"modified"`
	Partitions map[string]*string `json:"partitions"`
}

func tableFiles(std IO) *cobra.Command {
	var f storeFlags
	var asJSON bool
	var version int64
	c := &cobra.Command{
		Use:   "files [path | pipeline.yaml]",
		Short: "List the data files of a version",
		Long: `List the data files of a version: exactly those that make up the table. A reader that takes its files from here is right at any moment,
beside writers, optimize and vacuum.`,
		Example: "  microbatch table files out/events\n  microbatch table files out/events --version 3 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, _, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			s := t.Snapshot()
			if version >= 0 {
				if s, err = t.At(cmd.Context(), version); err != nil {
					return err
				}
			}
			files, err := s.Files(cmd.Context())
			if err != nil {
				return err
			}
			infos := make([]fileInfo, len(files))
			for i, a := range files {
				infos[i] = fileInfo{Path: a.Path, Bytes: a.Size, Rows: -1, Modified: time.UnixMilli(a.Modified).UTC(), Partitions: a.PartitionValues}
				if n, ok := rowsOf(a); ok {
					infos[i].Rows = n
				}
			}
			if asJSON {
				return writeJSON(std.Out, infos)
			}
			for _, i := range infos {
				fmt.Fprintln(shown(std.Out), i.Path)
			}
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON, with sizes, rows and partition values")
	c.Flags().Int64Var(&version, "version", -1, "of this `version`; left out: the newest")
	return c
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

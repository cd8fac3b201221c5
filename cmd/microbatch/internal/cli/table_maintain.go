package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"microbatch/internal/errcode"
	"microbatch/pipeline/config"
	"microbatch/table/maintain"
)

func tableOptimize(std IO) *cobra.Command {
	var f storeFlags
	var o maintain.OptimizeOptions
	var target string
	var asJSON bool
	c := &cobra.Command{
		Use:   "optimize [path | pipeline.yaml]",
		Short: "Join small files; no row changes",
		Long: `Join the small files of each partition into larger ones; no row changes. A running query is not disturbed: optimize gives way to it.
Replaced files stay until vacuum, for readers of older versions. For format parquet, readers that take all *.parquet files of the folder see them twice until
then: that has to be accepted by --force.`,
		Example: "  microbatch table optimize lake/orders\n  microbatch table optimize out/events --force && microbatch table vacuum out/events",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if target != "" {
				size, err := config.ParseSize(target)
				if err != nil {
					return errcode.Usage.New("", "--target-file-size %q: %v; want a size such as 128MiB", target, err)
				}
				o.TargetBytes = int64(size)
			}
			t, _, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			r, err := maintain.Optimize(cmd.Context(), t.Log(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(std.Out, struct {
					Version     int64 `json:"version"`
					Removed     int   `json:"files_removed"`
					Made        int   `json:"files_made"`
					BytesBefore int64 `json:"bytes_before"`
					BytesAfter  int64 `json:"bytes_after"`
					Rows        int64 `json:"rows"`
				}{r.Version, r.Removed, r.Made, r.BytesBefore, r.BytesAfter, r.Rows})
			}
			if r.Removed == 0 {
				fmt.Fprintln(std.Out, "nothing to do: there are no small files to join")
				return nil
			}
			fmt.Fprintf(std.Out, "version %d: %d files became %d, %d bytes became %d, %d rows\n", r.Version, r.Removed, r.Made, r.BytesBefore, r.BytesAfter, r.Rows)
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&o.Force, "force", false, "for format parquet: accept that plain readers see replaced files until vacuum")
	c.Flags().StringVar(&target, "target-file-size", "", "about how large files get, as `128MiB`")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

func tableVacuum(std IO) *cobra.Command {
	var f storeFlags
	var o maintain.VacuumOptions
	var retain string
	var asJSON bool
	c := &cobra.Command{
		Use:   "vacuum [path | pipeline.yaml]",
		Short: "Delete files that no version needs any more",
		Long: `Delete files that are no longer part of the table, and files of killed attempts, once they are older than the retention (a week unless the table says
otherwise). Versions that needed them can no longer be read. Below 48 hours it needs --force, and then no writer may be running.`,
		Example: "  microbatch table vacuum lake/orders --dry-run\n  microbatch table vacuum lake/orders --retain 7d",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if retain != "" {
				d, err := config.ParseDuration(retain)
				if err != nil {
					return errcode.Usage.New("", "--retain %q: want a duration such as 7d or 168h", retain)
				}
				o.Retain = new(d.D())
			}
			t, _, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			r, err := maintain.Vacuum(cmd.Context(), t.Log(), o)
			if err != nil {
				return err
			}
			if asJSON {
				keys := append([]string{}, r.Keys...)
				return writeJSON(std.Out, struct {
					DryRun bool     `json:"dry_run"`
					Files  []string `json:"files"`
					Bytes  int64    `json:"bytes"`
					Tidy   int      `json:"unfinished"`
				}{o.DryRun, keys, r.Bytes, r.Tidy})
			}
			for _, k := range r.Keys {
				fmt.Fprintln(shown(std.Out), k)
			}
			verb := "deleted"
			if o.DryRun {
				verb = "would delete"
			}
			fmt.Fprintf(std.Out, "%s %d files, %d bytes, and %d unfinished writes\n", verb, len(r.Keys), r.Bytes, r.Tidy)
			return nil
		},
	}
	f.add(c)
	c.Flags().StringVar(&retain, "retain", "", "keep files for this long, as `7d`; left out: as the table says, a week by default")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would be deleted, delete nothing")
	c.Flags().BoolVar(&o.Force, "force", false, "allow a retention below 48h; no writer may be running")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

func tableCheck(std IO) *cobra.Command {
	var f storeFlags
	var o maintain.CheckOptions
	var asJSON bool
	var against against
	c := &cobra.Command{
		Use:   "check [path | pipeline.yaml]",
		Short: "Check that log and files agree, and that the table is what a checkpoint claims",
		Long: `Read the log from end to end and look at every data file: that it is there, as long as the log says, readable, and with as many rows as promised.
Also says which Parquet files in the folder are not part of the table, and whether a plain glob over it is exact now. Writes nothing. Exit code 3 if something is wrong.
With --values it reads all of every file: a byte that has changed on the disk is found by the checksum of its page.

With --against-checkpoint it says whether the table is exactly what the checkpoint of its query claims: that every recorded batch is in the table once, with the
digest of its offsets, and nothing else is there under the query's id; that the ranges of the batches follow each other; and that log, files and counts agree. This
is done by a program part of its own, which shares no code with what writes tables and checkpoints. A running query is not disturbed.`,
		Example: `  microbatch table check out/events
  microbatch table check lake/orders --json
  microbatch table check lake/orders --values
  microbatch table check lake/orders --against-checkpoint checkpoints/orders
  microbatch table check orders.yaml --against-checkpoint orders.yaml   # the table and the checkpoint of a pipeline file`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case against.checkpoint != "" && o.Values:
				return errcode.Usage.New("", "--values and --against-checkpoint are two checks: run one after the other")
			case against.checkpoint != "":
				return against.run(cmd.Context(), std, &f, args, asJSON)
			}
			if err := against.flagless(cmd); err != nil {
				return err
			}
			t, path, err := f.table(cmd.Context(), args)
			if err != nil {
				return err
			}
			r, err := maintain.Check(cmd.Context(), t.Log(), o)
			if err != nil {
				return err
			}
			if err := showCheck(std, r, asJSON); err != nil {
				return err
			}
			if len(r.Problems) > 0 {
				return errcode.TableFile.New(path, "%s, the first: %s: %s", plural(len(r.Problems), "problem"), r.Problems[0].Key, r.Problems[0].Text)
			}
			return nil
		},
	}
	f.add(c)
	against.add(c)
	c.Flags().BoolVar(&o.Values, "values", false, "read every value of every file, and hold each page against its checksum")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

func showCheck(std IO, r *maintain.Report, asJSON bool) error {
	if asJSON {
		type problem struct {
			Key  string `json:"key"`
			Text string `json:"text"`
		}
		problems := []problem{}
		for _, p := range r.Problems {
			problems = append(problems, problem(p))
		}
		return writeJSON(std.Out, struct {
			Version   int64     `json:"version"`
			Oldest    int64     `json:"oldest_readable_version"`
			Files     int       `json:"files"`
			Rows      int64     `json:"rows"`
			Bytes     int64     `json:"bytes"`
			Problems  []problem `json:"problems"`
			Orphans   []string  `json:"orphans"`
			Replaced  []string  `json:"replaced"`
			GlobExact bool      `json:"glob_exact"`
		}{r.Version, r.Oldest, r.Files, r.Rows, r.Bytes, problems, append([]string{}, r.Orphans...), append([]string{}, r.Replaced...), r.GlobExact})
	}
	fmt.Fprintf(std.Out, "version %d (readable since %d): %d files, %d rows, %d bytes\n", r.Version, r.Oldest, r.Files, r.Rows, r.Bytes)
	for _, p := range r.Problems {
		fmt.Fprintf(shown(std.Out), "problem   %s: %s\n", p.Key, p.Text)
	}
	for _, o := range r.Orphans {
		fmt.Fprintf(shown(std.Out), "orphan    %s\n", o)
	}
	for _, o := range r.Replaced {
		fmt.Fprintf(shown(std.Out), "replaced  %s\n", o)
	}
	switch {
	case r.GlobExact:
		fmt.Fprintln(std.Out, "a glob over the *.parquet files is exactly the table")
	case len(r.Problems) > 0:
		fmt.Fprintln(std.Out, "neither a glob over the *.parquet files nor a reader of the log gets the table as it was committed")
	default:
		fmt.Fprintln(std.Out, "a glob over the *.parquet files is not the table now; readers of the log are right")
	}
	return nil
}

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"microbatch/engine"
	"microbatch/pipeline"
)

func checkpointCommand(std IO) *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "Look at a checkpoint, compare it with the sink, and repair it"}
	c.AddCommand(checkpointShow(std), checkpointCheck(std), checkpointRepair(std))
	return c
}

func checkpointShow(std IO) *cobra.Command {
	var f storeFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "show [path | pipeline.yaml]",
		Short: "Show where a query stands",
		Long: `Show where a query stands: its id, the newest batch, whether one is pending, the offsets it ends at, who drives it, and what in it a start would refuse.
The sink is not looked at: see microbatch validate, and microbatch checkpoint check. Nothing is written or locked.`,
		Example: "  microbatch checkpoint show orders.yaml\n  microbatch checkpoint show s3://lake/_checkpoints/orders --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, path, err := f.place(cmd.Context(), args, func(c *pipeline.Config) (string, error) { return c.Checkpoint, nil })
			if err != nil {
				return err
			}
			in, err := engine.Inspect(cmd.Context(), store)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(std.Out, in)
			}
			inspection(std.Out, path, in)
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

func inspection(out io.Writer, path string, in engine.Inspection) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(shown(out), "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("checkpoint", "%s", path)
	if in.QueryID == "" && in.Offsets.Count == 0 && in.Epoch == 0 {
		line("state", "there is none: no query has begun here, or it was deleted; `microbatch validate` says what a start would do")
		return
	}
	line("query", "%s", in.QueryID)
	line("offsets", "%s", span(in.Offsets))
	line("commits", "%s", span(in.Commits))
	if in.Pending != nil {
		line("pending", "batch %d is fixed and not recorded; a start runs it again or records it", *in.Pending)
	}
	if in.Delivery != "" {
		line("delivery", "%s: a batch is recorded before its rows are committed", in.Delivery)
	}
	for n, end := range in.Ends {
		line("source "+fmt.Sprint(n), "ends at %s", end)
	}
	if in.Epoch > 0 {
		line("epoch", "%d, claimed %s on %s by pipeline %s", in.Epoch, in.Started, in.Host, in.Pipeline)
	}
	for _, p := range in.Problems {
		line("problem", "%s", p)
	}
}

func span(r engine.IDRange) string {
	if r.Count == 0 {
		return "none"
	}
	if r.Count == 1 {
		return fmt.Sprintf("%d", r.First)
	}
	return fmt.Sprintf("%d to %d, %d entries", r.First, r.Last, r.Count)
}

func checkpointRepair(std IO) *cobra.Command {
	var f pipelineFlags
	var how engine.Repair
	c := &cobra.Command{
		Use:   "repair [pipeline.yaml]",
		Short: "Repair a damaged checkpoint from what the table proves",
		Long: `Repair a damaged or deleted checkpoint from what the table's log proves. Every version of the table holds the text of the checkpoint's entry it came from,
so entries can be rebuilt; what cannot be proved is refused. The repair fences all drivers of the past first. It can be cut off and repeated.`,
		Example: "  microbatch checkpoint repair orders.yaml --dry-run   # say what would be done\n  microbatch checkpoint repair orders.yaml\n  microbatch checkpoint repair orders.yaml --rewind    # the table was restored to an older version: run the batches since again",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.load(args)
			if err != nil {
				return err
			}
			q, err := pipeline.Build(cmd.Context(), c, pipeline.Options{RetryFor: patience})
			if err != nil {
				return err
			}
			q.MaxRestarts = -1 // somebody waits
			how.Step = func(text string) { fmt.Fprintln(shown(std.Out), text) }
			return q.Repair(cmd.Context(), how)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&how.DryRun, "dry-run", false, "say what would be done, write nothing")
	c.Flags().BoolVar(&how.Rewind, "rewind", false, "accept that the table went back to an older version: drop later entries and run those batches again")
	return c
}

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"microbatch/guarantee"
	"microbatch/pipeline"
)

func explainCommand(std IO) *cobra.Command {
	var f pipelineFlags
	var offline, asJSON bool
	c := &cobra.Command{
		Use:   "explain [pipeline.yaml]",
		Short: "Say what a pipeline guarantees, link by link, and why",
		Long: `Say what a pipeline guarantees from end to end: exactly once, at least once, at most once, or neither.

Each part (source, transforms, checkpoint, sink) is a link with its own guarantee and the reason for it; the weakest links decide and are named. Also: when rows are visible,
what readers of the result have to do, and warnings about settings that weaken the promise. Services are asked as by validate; nothing is written, and a running driver is not disturbed.`,
		Example: `  microbatch explain                        # microbatch.yaml in the current folder
  microbatch explain orders.yaml --offline  # the file alone: no connection is made
  microbatch explain orders.yaml --offline --set delivery=at_most_once
  microbatch explain orders.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := explain(cmd.Context(), &f, args, offline)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(std.Out, e)
			}
			e.text(shown(std.Out))
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&offline, "offline", false, "from the file alone: no service is asked")
	c.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	return c
}

// explanation is what explain says.
type explanation struct {
	File    string `json:"file"`
	Name    string `json:"name"`
	Flow    string `json:"flow"`
	Offline bool   `json:"offline"` // nothing was asked: what only services know is left out
	guarantee.Result
}

func explain(ctx context.Context, f *pipelineFlags, args []string, offline bool) (explanation, error) {
	c, err := f.load(args)
	if err != nil {
		return explanation{}, err
	}
	e := explanation{File: c.File(), Name: c.Name, Flow: summary(c), Offline: offline}
	if !offline {
		checked, err := check(ctx, c)
		e.Result = checked.Guarantee
		return e, err
	}
	q, err := pipeline.Build(ctx, c, pipeline.Options{})
	if err != nil {
		return e, err
	}
	e.Result = q.Guarantee(ctx)
	return e, q.Validate()
}

// text is the explanation for people: the result first, then its links in the order that a row takes.
func (e explanation) text(out io.Writer) {
	fmt.Fprintf(out, "%s delivers %s\n\n", e.Name, e.Sentence)
	for _, l := range e.Links {
		fmt.Fprintf(out, "%s: %s\n  %s, because %s\n", l.Part, l.Name, l.Level, l.Reason)
		if l.Level != guarantee.ExactlyOnce {
			fmt.Fprintln(out, "  this link decides")
		}
		if l.Remedy != "" {
			fmt.Fprintf(out, "  better: %s\n", l.Remedy)
		}
	}
	fmt.Fprintf(out, "\nrows are visible %s\n", e.Visible)
	for _, r := range e.Readers {
		fmt.Fprintf(out, "readers: %s\n", r)
	}
	for _, w := range e.Warnings {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	if e.Offline {
		fmt.Fprintln(out, "offline: what only services and the SQL engine know (how long a topic is kept, what a query does) is not looked at")
	}
}

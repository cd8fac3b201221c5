package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"microbatch/engine"
	"microbatch/guarantee"
	"microbatch/internal/errcode"
	"microbatch/pipeline"
	"microbatch/schema"
)

func validateCommand(std IO) *cobra.Command {
	var f pipelineFlags
	var offline, asJSON bool
	c := &cobra.Command{
		Use:   "validate [pipeline.yaml]",
		Short: "Check a pipeline without running it",
		Long: `Check a pipeline file, and then what a start would meet: brokers, topics and files, the schema, the transforms, the table, the checkpoint.

All faults of the file are reported at once, each with file:line:column. Nothing is written, and a running driver is not disturbed.`,
		Example: `  microbatch validate                      # microbatch.yaml in the current folder
  microbatch validate orders.yaml --offline  # the file alone: no connection is made
  microbatch validate orders.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := validate(cmd.Context(), &f, args, offline)
			if asJSON {
				return report.json(std, err)
			}
			if err != nil {
				return err
			}
			report.text(std)
			return nil
		},
	}
	f.add(c)
	c.Flags().BoolVar(&offline, "offline", false, "check the file alone")
	c.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON, faults included")
	return c
}

// validation is what validate has found out.
type validation struct {
	Valid     bool              `json:"valid"`
	File      string            `json:"file,omitempty"`
	Name      string            `json:"name,omitempty"`
	Flow      string            `json:"flow,omitempty"`
	Input     string            `json:"input_schema,omitempty"`
	Output    string            `json:"output_schema,omitempty"`
	Table     string            `json:"table,omitempty"`
	Rejected  string            `json:"rejected,omitempty"`
	Store     string            `json:"checkpoint,omitempty"`
	Plan      string            `json:"plan,omitempty"`
	Guarantee *guarantee.Result `json:"guarantee,omitempty"`
	Warnings  []string          `json:"warnings"`
	Faults    []fault           `json:"faults"`
}

// fault is an error for programs.
type fault struct {
	Code    string `json:"code"`
	Place   string `json:"place"`
	Message string `json:"message"`
	Safe    string `json:"safe"`
	Next    string `json:"next"`
}

func validate(ctx context.Context, f *pipelineFlags, args []string, offline bool) (validation, error) {
	v := validation{Warnings: []string{}, Faults: []fault{}}
	c, err := f.load(args)
	if err != nil {
		return v, err
	}
	v.File, v.Name, v.Flow, v.Store = c.File(), c.Name, summary(c), c.Checkpoint
	if c.Rejected != nil {
		v.Rejected = c.Rejected.Table
	}
	if offline {
		v.Valid = true
		return v, nil
	}
	checked, err := check(ctx, c)
	if err != nil {
		return v, err
	}
	v.fill(checked)
	return v, nil
}

// check does what a start does before it writes anything.
func check(ctx context.Context, c *pipeline.Config) (engine.Checked, error) {
	q, err := pipeline.Build(ctx, c, pipeline.Options{RetryFor: patience})
	if err != nil {
		return engine.Checked{}, err
	}
	q.MaxRestarts = -1 // somebody waits
	return q.Check(ctx)
}

func (v *validation) fill(c engine.Checked) {
	v.Valid = true
	v.Input, v.Output, v.Plan = schema.FormatDDL(c.Input), schema.FormatDDL(c.Output), c.Plan
	v.Guarantee = &c.Guarantee
	v.Warnings = c.Guarantee.Warnings
}

func (v validation) text(std IO) {
	fmt.Fprintf(std.Out, "%s is valid\n", v.File)
	for _, line := range [][2]string{
		{"pipeline", v.Name}, {"flow", v.Flow}, {"input", v.Input}, {"output", v.Output}, {"rejected", v.Rejected}, {"checkpoint", v.Store}, {"start", v.Plan},
		{"guarantee", v.promise()},
	} {
		if line[1] != "" {
			fmt.Fprintf(std.Out, "  %-11s %s\n", line[0], line[1])
		}
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(std.Out, "  warning     %s\n", w)
	}
}

// promise is the guarantee in one line; "" if nothing was opened.
func (v validation) promise() string {
	if v.Guarantee == nil {
		return ""
	}
	return v.Guarantee.Sentence
}

// json writes the result, and gives err back for the exit code alone.
func (v validation) json(std IO, err error) error {
	for _, e := range coded(err) {
		next := e.Next
		if next == "" {
			next = e.Code.Next
		}
		message := e.Msg
		if message == "" {
			message = e.Code.Title
		}
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
		v.Faults = append(v.Faults, fault{e.Code.ID, e.Place, message, e.Code.Safe, next})
	}
	if err != nil && len(v.Faults) == 0 {
		v.Faults = append(v.Faults, fault{Message: err.Error()})
	}
	out := json.NewEncoder(std.Out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if werr := out.Encode(v); werr != nil {
		return werr
	}
	return err
}

// coded are the errors with codes in err: all faults of a pipeline file, or the outermost one.
func coded(err error) []*errcode.Error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*errcode.Error
		for _, e := range many.Unwrap() {
			out = append(out, coded(e)...)
		}
		return out
	}
	if e, ok := errors.AsType[*errcode.Error](err); ok {
		return []*errcode.Error{e}
	}
	return nil
}

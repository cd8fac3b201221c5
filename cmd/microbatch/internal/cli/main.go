package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"microbatch/internal/errcode"
)

// IO is where a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command line args (without the program's name) and returns the exit code.
func Main(ctx context.Context, args []string, std IO) int {
	limitMemory()
	catchFileLimit()
	root := Root(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(std.Err, "error: "+visible(errcode.Detail(err)))
	return errcode.ClassOf(err).ExitCode()
}

// visible keeps control characters of foreign text (topic and file names, values) from the terminal, and those that change the direction of writing.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return '?'
		}
		return r
	}, s)
}

// shown is out for lines that hold foreign text: what would move the cursor or change a terminal is replaced.
func shown(out io.Writer) io.Writer { return visibleWriter{out} }

type visibleWriter struct{ out io.Writer }

func (w visibleWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.out, visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Root is the tree of all commands.
func Root(std IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "microbatch",
		Short: "Micro-batches from Kafka and files to lakehouse tables, exactly once",
		Long: `microbatch reads Kafka topics or files in micro-batches and writes lakehouse tables on disk or S3, exactly once:
a crash, a kill -9 or a full disk at any moment never loses or doubles a row.`,
		Example: `  microbatch demo                         # see it work, without any server
  microbatch init --from events.ndjson    # a first pipeline file from your own data
  microbatch start                        # run microbatch.yaml
  microbatch query "SELECT count(*) FROM 'out/events'"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { // before cobra's own check, whose error has no code
			if err := cmd.ValidateFlagGroups(); err != nil {
				return errcode.Usage.New("", "%s: %v", cmd.CommandPath(), err)
			}
			return nil
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return errcode.Usage.New("", "%s: %v", cmd.CommandPath(), err)
	})
	root.AddCommand(startCommand(std), validateCommand(std), explainCommand(std), initCommand(std), demoCommand(std), queryCommand(std), tableCommand(std), checkpointCommand(std), rejectedCommand(std), versionCommand(std))
	asUsageErrors(root)
	return root
}

// group makes a command that only holds others say what is wrong with a name it does not know.
func group(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		e := errcode.Usage.New("", "%s: unknown command %q", cmd.CommandPath(), args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return e.Advise("Did you mean `%s %s`? `%s --help` lists the commands.", cmd.CommandPath(), near[0], cmd.CommandPath())
		}
		return e
	}
}

// asUsageErrors gives wrong arguments a code, in all commands.
func asUsageErrors(c *cobra.Command) {
	if c.HasSubCommands() {
		group(c)
		c.SuggestionsMinimumDistance = 2
	}
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return errcode.Usage.New("", "%s: %v", cmd.CommandPath(), err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsageErrors(sub)
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, false
	}
	info, err := f.Stat()
	return f, err == nil && info.Mode()&os.ModeCharDevice != 0
}

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"microbatch/internal/duck"
)

func versionCommand(std IO) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what is built in",
		Example: "  microbatch version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(std.Out, "microbatch %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err := duck.Available(); err != nil {
				fmt.Fprintf(std.Out, "without DuckDB: %v\n", err)
			} else {
				fmt.Fprintln(std.Out, "with DuckDB: sql transforms and microbatch query")
			}
			return nil
		},
	}
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}

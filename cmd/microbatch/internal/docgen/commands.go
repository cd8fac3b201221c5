package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"microbatch/cmd/microbatch/internal/cli"
)

// commandReference is the help of all commands.
func commandReference(string) (string, error) {
	var b strings.Builder
	command(&b, cli.Root(cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

func command(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	fmt.Fprintf(b, "### %s\n\n", c.CommandPath())
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "%s\n\n```\n%s\n```\n\n", long, strings.TrimSpace(c.UseLine()))
	if c.Example != "" {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", dedent(c.Example))
	}
	var flags []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		fallback := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			fallback = "`" + f.DefValue + "`"
		}
		flags = append(flags, fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.Join(strings.Fields(usage), " "), fallback))
	})
	if len(flags) > 0 {
		b.WriteString("| flag | meaning | default |\n|---|---|---|\n" + strings.Join(flags, "") + "\n")
	}
	for _, sub := range c.Commands() {
		command(b, sub)
	}
}

// dedent takes the two spaces of cobra's examples away.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

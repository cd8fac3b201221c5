package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandExplainsItself: a short line, and for what can be run an example that begins with its own path.
func TestEveryCommandExplainsItself(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short line is %q", c.CommandPath(), c.Short)
		}
		if !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: its examples do not show it: %q", c.CommandPath(), c.Example)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(Root(IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
}

// TestForeignTextCannotReachTheTerminalRaw: control characters in messages are replaced, line ends stay.
func TestForeignTextCannotReachTheTerminalRaw(t *testing.T) {
	if have := visible("topic \x1b[31mevil\r\n\tnext\u009b2J\x7f"); have != "topic ?[31mevil?\n\tnext?2J?" {
		t.Errorf("have %q", have)
	}
}

// TestThousands of numbers.
func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if have := thousands(n); have != want {
			t.Errorf("%d: have %s", n, have)
		}
	}
}

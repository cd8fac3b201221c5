package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// count writes a number of rows short: 950, 12.3k, 4.56M.
func count(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if n >= u.size {
			if u.name == "k" {
				u.size = 1e3
			}
			x := n / u.size
			return fmt.Sprintf("%.*f%s", max(0, 2-int(math.Log10(x))), x, u.name)
		}
	}
	return fmt.Sprintf("%.0f", n)
}

// size writes a number of bytes short: 950 B, 12.3 MB.
func size(n int64) string {
	x, unit := float64(n), 0
	for x >= 1000 && unit < 4 {
		x /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", x, " kMGT"[unit])
}

// span writes a duration short.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// bar draws a share between 0 and 1.
func bar(share float64, width int) string {
	full := int(math.Round(min(1, max(0, share)) * float64(width)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// printable keeps control characters of foreign text (topic names, reasons) from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

package report

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// A chart is horizontal bars on one scale.
type chart struct {
	name, title string
	bars        []bar
}

type bar struct {
	label string
	value float64
	mark  *float64 // what is required
}

// titles of the charts, by the names that rows use.
func title(name string) string {
	switch name {
	case "files":
		return "Files to table: times as fast as DuckDB's COPY"
	case "batches":
		return "Batches of 1,000 rows: time by what the table has seen, against a young table"
	case "memory":
		return "Peak memory, MB"
	case "spark":
		return "Times as much as Spark, per processor second or batch"
	}
	return name
}

// charts are the charts that rows ask for, in order of their first row, with the rows that were measured.
func charts(sections []Section, all []Result) []chart {
	var out []chart
	index := map[string]int{}
	for _, s := range sections {
		for _, row := range s.Rows {
			r, ok := find(all, row.Name)
			if !ok || row.Chart == "" {
				continue
			}
			i, ok := index[row.Chart]
			if !ok {
				i = len(out)
				index[row.Chart] = i
				out = append(out, chart{name: row.Chart, title: title(row.Chart)})
			}
			b := bar{label: row.Label, value: r.figure()}
			if b.label == "" {
				b.label = row.Name
			}
			if row.Required != nil {
				b.mark = &row.Required.Limit
			}
			out[i].bars = append(out[i].bars, b)
		}
	}
	return out
}

// Sizes in the drawing.
const (
	chartWidth = 760
	barsFrom   = 300
	barsTo     = 690
	lineHeight = 24
	topSpace   = 34
)

// svg draws the chart. Colours come from one style sheet that follows the reader's light or dark scheme; the background stays the page's.
func (c chart) svg() string {
	most := 0.0
	for _, b := range c.bars {
		most = max(most, b.value)
		if b.mark != nil {
			most = max(most, *b.mark)
		}
	}
	scale := 0.0
	if most > 0 {
		scale = (barsTo - barsFrom) / most
	}
	height := topSpace + lineHeight*len(c.bars) + 26
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<style>text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}.b{fill:#2f6fde}.m{stroke:#c2410c;stroke-width:2}.k{fill:#57606a;font-size:12px}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.b{fill:#6ea8fe}.m{stroke:#ffa657}.k{fill:#9aa4af}}</style>
<text class="t" x="8" y="20">%s</text>
`, chartWidth, height, chartWidth, height, escaped(c.title), escaped(c.title))
	for i, b := range c.bars {
		y := topSpace + lineHeight*i
		width := max(b.value*scale, 1)
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%s</text><rect class="b" x="%d" y="%d" width="%.1f" height="16" rx="2"/><text x="%.1f" y="%d">%s</text>`,
			barsFrom-8, y+13, escaped(b.label), barsFrom, y, width, barsFrom+max(width, c.markAt(b, scale))+8, y+13, digits(b.value))
		if b.mark != nil {
			x := barsFrom + *b.mark*scale
			fmt.Fprintf(&s, `<line class="m" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, y-3, x, y+19)
		}
		s.WriteByte('\n')
	}
	fmt.Fprintf(&s, `<text class="k" x="%d" y="%d">The upright line is what is required.</text>`+"\n</svg>\n", barsFrom, height-8)
	return s.String()
}

// markAt is where the mark of a bar stands if a number beside the bar would touch it, else 0.
func (c chart) markAt(b bar, scale float64) float64 {
	if b.mark == nil {
		return 0
	}
	at, end := *b.mark*scale, b.value*scale
	if at < end || at > end+60 {
		return 0
	}
	return at
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

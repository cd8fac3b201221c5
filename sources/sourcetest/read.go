package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/sources"
)

// span is a planned range.
type span struct {
	from, to ident.Offset
	aux      map[string]string
}

// plan is the range that follows an offset; it must not be empty.
func (b *bench) plan(src sources.Source, from ident.Offset, limit sources.Limit) span {
	b.Helper()
	p, err := src.Plan(b.Context(), from, limit)
	if err != nil {
		b.Fatalf("Plan from %q: %v", from, err)
	}
	if p.To == from {
		b.Fatalf("Plan from %q: nothing new, though there is input", from)
	}
	return span{from, p.To, p.Aux}
}

// plans are the ranges from an offset until nothing is new, each within the limit.
func (b *bench) plans(src sources.Source, from ident.Offset, limit sources.Limit) []span {
	b.Helper()
	var all []span
	for range 10_000 {
		p, err := src.Plan(b.Context(), from, limit)
		if err != nil {
			b.Fatalf("Plan from %q: %v", from, err)
		}
		if p.To == from {
			return all
		}
		all = append(all, span{from, p.To, p.Aux})
		from = p.To
	}
	b.Fatal("10,000 ranges, and still something new: give the Subject a Step that cuts less finely, or an end")
	return nil
}

// splits opens a range.
func (b *bench) splits(src sources.Source, r span, want int) []sources.Split {
	b.Helper()
	splits, err := src.Splits(b.Context(), r.from, r.to, r.aux, want)
	if err != nil {
		b.Fatalf("Splits of [%s, %s): %v", r.from, r.to, err)
	}
	return splits
}

// read is all rows of a range, sorted, pulled split by split.
func (b *bench) read(src sources.Source, r span, want int) []string {
	b.Helper()
	return b.pull(src, b.splits(src, r, want))
}

func (b *bench) pull(src sources.Source, splits []sources.Split) []string {
	b.Helper()
	var all []string
	for _, split := range splits {
		rows, err := drain(b.Context(), src, split)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, rows...)
	}
	slices.Sort(all)
	return all
}

// drain is the rows of one split as text: decoded ones by column, rejected ones by position and reason.
func drain(ctx context.Context, src sources.Source, split sources.Split) ([]string, error) {
	var rows []string
	for chunk, err := range split.Records(ctx) {
		if err != nil {
			return nil, fmt.Errorf("Records: %w", err)
		}
		if chunk.Record != nil && !chunk.Record.Schema().Equal(src.Schema()) {
			chunk.Release()
			return nil, fmt.Errorf("a chunk has the schema %s, the source %s", chunk.Record.Schema(), src.Schema())
		}
		rows = append(rows, lines(chunk)...)
		chunk.Release()
	}
	return rows, nil
}

func lines(chunk batch.Chunk) []string {
	var rows []string
	for i := range int(chunk.Rows()) {
		var cells []string
		for _, column := range chunk.Record.Columns() {
			cells = append(cells, column.ValueStr(i))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	for _, r := range chunk.Rejected {
		rows = append(rows, fmt.Sprintf("rejected %s: %s: %q", r.Position, r.Reason, r.Raw))
	}
	return rows
}

func (b *bench) equal(what string, want, have []string) {
	b.Helper()
	if len(want) == 0 {
		b.Fatalf("%s: no rows to compare", what)
	}
	if d := cmp.Diff(want, have); d != "" {
		b.Fatalf("%s (-want +have):\n%.4000s", what, d)
	}
}

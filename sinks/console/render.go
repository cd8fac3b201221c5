package console

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxWidth is how many characters of a value a table shows.
const maxWidth = 40

// render is the whole output of a batch.
func (s *Sink) render(p *pending) ([]byte, error) {
	records, shown := p.shown(s.config.Rows)
	defer func() {
		for _, r := range records {
			r.Release()
		}
	}()
	total := p.Staged().Rows
	var b bytes.Buffer
	fmt.Fprintf(&b, "-- batch %s: %d rows", p.batch.ID, total)
	if int64(shown) < total {
		fmt.Fprintf(&b, ", the first %d", shown)
	}
	b.WriteByte('\n')
	if s.config.Encoder == nil {
		renderTable(&b, p.batch.Schema, records)
		return b.Bytes(), nil
	}
	for _, r := range records {
		for i := range int(r.NumRows()) {
			line, err := s.config.Encoder.AppendRow(b.AvailableBuffer(), r, i)
			if err != nil {
				return nil, err
			}
			b.Write(append(line, '\n'))
		}
	}
	return b.Bytes(), nil
}

// shown is the first rows over all parts, as records that the caller releases.
func (p *pending) shown(most int) (records []arrow.RecordBatch, n int) {
	for _, part := range p.first {
		for _, r := range part.records {
			take := min(most-n, int(r.NumRows()))
			if take > 0 {
				records = append(records, r.NewSlice(0, int64(take)))
				n += take
			}
		}
	}
	return records, n
}

func renderTable(b *bytes.Buffer, schema *arrow.Schema, records []arrow.RecordBatch) {
	columns := make([][]string, schema.NumFields())
	for i, f := range schema.Fields() {
		columns[i] = []string{printable(f.Name)}
		for _, r := range records {
			for row := range int(r.NumRows()) {
				columns[i] = append(columns[i], cell(r.Column(i), row))
			}
		}
	}
	widths := make([]int, len(columns))
	for i, column := range columns {
		for _, v := range column {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	for row := range len(firstColumn(columns)) {
		var line strings.Builder
		for i, column := range columns {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(column[row]))
			if row > 0 && numeric(schema.Field(i).Type) {
				line.WriteString(pad + column[row] + "  ")
			} else {
				line.WriteString(column[row] + pad + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func firstColumn(columns [][]string) []string {
	if len(columns) == 0 {
		return nil
	}
	return columns[0]
}

func cell(column arrow.Array, row int) string {
	if column.IsNull(row) {
		return "NULL"
	}
	text := printable(column.ValueStr(row))
	if utf8.RuneCountInString(text) > maxWidth {
		text = string([]rune(text)[:maxWidth-1]) + "…"
	}
	return text
}

// printable replaces what would move the cursor or change a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '�'
	}, text)
}

func numeric(t arrow.DataType) bool {
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}

package rows

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Printer prints records of one schema. The caller releases them.
type Printer interface {
	Print(record arrow.RecordBatch) error
	// Close prints what is held back.
	Close() error
}

// Formats are the names New knows.
func Formats() []string { return []string{"table", "json", "csv"} }

// New makes a printer; format is one of Formats.
func New(out io.Writer, format string, schema *arrow.Schema) Printer {
	switch format {
	case "json":
		return &jsonPrinter{out: out}
	case "csv":
		return &csvPrinter{out: csv.NewWriter(out), schema: schema}
	}
	return &table{out: out, schema: schema}
}

// widthRows is how many rows the widths of a table's columns are taken from.
const widthRows = 200

// maxWidth is how wide a column of a table gets.
const maxWidth = 60

// table prints columns under each other.
type table struct {
	out    io.Writer
	schema *arrow.Schema
	held   [][]string
	widths []int // nil until they are settled
	right  []bool
}

func (t *table) Print(record arrow.RecordBatch) error {
	for row := range int(record.NumRows()) {
		cells := make([]string, record.NumCols())
		for c := range cells {
			cells[c] = clip(cell(record.Column(c), row))
		}
		if t.widths != nil {
			if err := t.line(cells); err != nil {
				return err
			}
			continue
		}
		if t.held = append(t.held, cells); len(t.held) == widthRows {
			if err := t.settle(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *table) Close() error {
	if t.widths == nil {
		return t.settle()
	}
	return nil
}

// settle fixes the widths and prints the head and the rows held back.
func (t *table) settle() error {
	n := t.schema.NumFields()
	t.widths, t.right = make([]int, n), make([]bool, n)
	head, rule := make([]string, n), make([]string, n)
	for c := range n {
		head[c] = clip(t.schema.Field(c).Name)
		t.widths[c] = utf8.RuneCountInString(head[c])
		t.right[c] = isNumber(t.schema.Field(c).Type)
		for _, cells := range t.held {
			t.widths[c] = max(t.widths[c], utf8.RuneCountInString(cells[c]))
		}
		rule[c] = strings.Repeat("-", t.widths[c])
	}
	for _, cells := range append([][]string{head, rule}, t.held...) {
		if err := t.line(cells); err != nil {
			return err
		}
	}
	t.held = nil
	return nil
}

func (t *table) line(cells []string) error {
	var b strings.Builder
	for c, text := range cells {
		if c > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(0, t.widths[c]-utf8.RuneCountInString(text)))
		if t.right[c] {
			b.WriteString(pad + text)
		} else {
			b.WriteString(text + pad)
		}
	}
	_, err := fmt.Fprintln(t.out, strings.TrimRight(b.String(), " "))
	return err
}

func isNumber(t arrow.DataType) bool {
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}

// cell is a value as text that outlives the column's memory.
func cell(column arrow.Array, row int) string {
	if column.IsNull(row) {
		return "NULL"
	}
	if f, ok := column.(*array.Float64); ok {
		if x := f.Value(row); x == 0 || math.Abs(x) >= 1e-6 && math.Abs(x) < 1e21 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
	}
	return strings.Clone(column.ValueStr(row))
}

// clip makes a text fit into a cell: one line, no control characters, not too long.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > maxWidth {
		return string([]rune(s)[:maxWidth-1]) + "…"
	}
	return s
}

// jsonPrinter prints an object a line.
type jsonPrinter struct{ out io.Writer }

func (p *jsonPrinter) Print(record arrow.RecordBatch) error {
	var b strings.Builder
	for row := range int(record.NumRows()) {
		b.WriteByte('{')
		for c, f := range record.Schema().Fields() {
			if c > 0 {
				b.WriteByte(',')
			}
			name, err := json.Marshal(f.Name)
			if err != nil {
				return err
			}
			value, err := json.Marshal(record.Column(c).GetOneForMarshal(row))
			if err != nil {
				return fmt.Errorf("column %s: %w", f.Name, err)
			}
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteString("}\n")
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func (p *jsonPrinter) Close() error { return nil }

// csvPrinter prints CSV with a header; null is an empty field.
type csvPrinter struct {
	out    *csv.Writer
	schema *arrow.Schema
	headed bool
}

func (p *csvPrinter) head() error {
	if p.headed {
		return nil
	}
	p.headed = true
	names := make([]string, p.schema.NumFields())
	for i, f := range p.schema.Fields() {
		names[i] = f.Name
	}
	return p.out.Write(names)
}

func (p *csvPrinter) Print(record arrow.RecordBatch) error {
	if err := p.head(); err != nil {
		return err
	}
	cells := make([]string, record.NumCols())
	for row := range int(record.NumRows()) {
		for c := range cells {
			cells[c] = ""
			if column := record.Column(c); !column.IsNull(row) {
				cells[c] = cell(column, row)
			}
		}
		if err := p.out.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

func (p *csvPrinter) Close() error {
	if err := p.head(); err != nil {
		return err
	}
	p.out.Flush()
	return p.out.Error()
}

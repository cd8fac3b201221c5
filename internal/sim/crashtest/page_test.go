//go:build failpoints

package crashtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"microbatch/internal/page"
	"microbatch/internal/sourcecode"
)

// root is the module's folder, from this one.
const root = "../../.."

// pageFile is where the results stand.
const pageFile = root + "/docs/exactly-once.md"

// remedy is how to make the page current.
const remedy = "`go test -tags failpoints ./internal/sim/crashtest -run '^TestCrashMatrix$|^TestFaultPoints$' -update` writes it"

// cell is what the next process found after deaths at one point, in the columns of the page.
type cell struct {
	found map[string]map[string]bool // by column
	swept bool
	tests map[string]bool // scenarios
}

// joins reports whether two cells can stand in one row: where both have tried, they have found and done the same.
func (c *cell) joins(d *cell) bool {
	for column, found := range c.found {
		if other, tried := d.found[column]; tried && !maps.Equal(found, other) {
			return false
		}
	}
	return c.does() == d.does() && c.letters() == d.letters()
}

// join takes in what another cell has found.
func (c *cell) join(d *cell) {
	for column, found := range d.found {
		c.found[column] = found
	}
}

func (c *cell) columns() []string {
	var out []string
	for _, column := range columns() {
		text := strings.Join(slices.Sorted(maps.Keys(c.found[column])), ", ")
		if text == "" {
			text = "-"
		}
		out = append(out, text)
	}
	return out
}

// doing is what a process does about what it has found.
var doing = map[string]string{"fresh": "plans batch 0", "next": "plans the next batch", "rerun": "runs the same range again", "visible": "records the batch", "lives": "goes on"}

func (c *cell) does() string {
	var out []string
	for _, found := range []string{"fresh", "next", "rerun", "visible", "lives"} {
		for _, column := range c.found {
			if column[found] && !slices.Contains(out, doing[found]) {
				out = append(out, doing[found])
			}
		}
	}
	if c.swept {
		out = append(out, "deletes what the dead have staged")
	}
	return strings.Join(out, "; ")
}

func (c *cell) letters() string {
	var out []string
	for i, s := range scenarios() {
		if c.tests[s.name] {
			out = append(out, letter(i))
		}
	}
	return strings.Join(out, "")
}

func letter(i int) string { return string(rune('A' + i)) }

// checkPage compares the page with the results, or writes it.
func (m *matrix) checkPage(t *testing.T) {
	t.Helper()
	text, err := m.render()
	if err == nil {
		err = page.Section(pageFile, "crash matrix", text, *update)
	}
	if err != nil {
		t.Errorf("%v: %s", err, remedy)
	}
}

// render is the matrix as a table. It rests on the deaths alone that every run of the tests tries.
func (m *matrix) render() (string, error) {
	cells := map[point]map[fate]*cell{}
	for _, r := range m.results {
		if !r.Share {
			continue
		}
		p := point{r.Phase, r.Point}
		if cells[p] == nil {
			cells[p] = map[fate]*cell{}
		}
		c := cells[p][r.Fate]
		if c == nil {
			c = &cell{found: map[string]map[string]bool{}, tests: map[string]bool{}}
			cells[p][r.Fate] = c
		}
		column := columnOf(r.Kind)
		if c.found[column] == nil {
			c.found[column] = map[string]bool{}
		}
		c.found[column][r.Found] = true
		c.tests[r.Scenario] = true
		c.swept = c.swept || r.Swept
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| phase | id | where | dies | %s | what the next process does | shown by |\n|%s\n", strings.Join(columns(), " | "), strings.Repeat("---|", 6+len(columns())))
	points := slices.Collect(maps.Keys(cells))
	for _, p := range points {
		if at, _ := p.rank(); at < 0 {
			return "", fmt.Errorf("the matrix has a point that the catalogue does not know: %s: %s", p.phase, p.name)
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		x, _ := a.rank()
		y, _ := b.rank()
		return x - y
	})
	var rows []row
	for _, p := range points {
		_, id := p.rank()
		for _, r := range rowsOf(cells[p]) {
			r.phase, r.id, r.where = p.phase, id, []string{code(p.name)}
			if n := len(rows); n > 0 && rows[n-1].sameFaultPoint(&r) {
				rows[n-1].where = append(rows[n-1].where, strings.TrimPrefix(r.where[0], "at "))
				continue
			}
			rows = append(rows, r)
		}
	}
	for _, r := range rows {
		c := r.cell
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.phase, r.id, strings.Join(r.where, ", "), r.dies, strings.Join(c.columns(), " | "), c.does(), c.letters())
	}
	b.WriteString("\nShown by `TestCrashMatrix/<sink>/<scenario>`:")
	for i, s := range scenarios() {
		fmt.Fprintf(&b, " %s %s,", letter(i), s.name)
	}
	return strings.TrimSuffix(b.String(), ",") + ".\n", nil
}

// row is what is the same for several fates.
type row struct {
	phase, id string
	where     []string
	dies      string
	cell      *cell
}

// sameFaultPoint reports whether two rows are fault points that nothing lies between.
func (r *row) sameFaultPoint(o *row) bool {
	return strings.HasPrefix(r.where[0], "at ") && strings.HasPrefix(o.where[0], "at ") && r.phase == o.phase && r.id == o.id && maps.EqualFunc(r.cell.found, o.cell.found, maps.Equal) && r.cell.joins(o.cell)
}

func rowsOf(byFate map[fate]*cell) (rows []row) {
	for _, f := range fates {
		c := byFate[f]
		if c == nil {
			continue
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.cell.joins(c) }); i >= 0 {
			rows[i].dies += ", " + f.String()
			rows[i].cell.join(c)
			continue
		}
		rows = append(rows, row{dies: f.String(), cell: c})
	}
	return rows
}

// code puts what is a key or a name into code marks.
func code(name string) string {
	words := strings.Split(name, " ")
	for i, w := range words {
		if strings.ContainsAny(w, "/<_") || strings.Contains(w, ".") && !strings.HasSuffix(w, ".") || i == len(words)-1 && words[0] == "put" && len(words) == 2 {
			words[i] = "`" + w + "`"
		}
	}
	return strings.Join(words, " ")
}

// TestFaultPoints: every fault point of the sources is described, none is described that is not there, and the page lists them.
func TestFaultPoints(t *testing.T) {
	files := sourcecode.FaultPoints(t, root)
	for name := range files {
		if faultTexts[name].text == "" {
			t.Errorf("%s: fault point %s is not described in catalogue.go", files[name][0], name)
		}
	}
	for name := range faultTexts {
		if files[name] == nil {
			t.Errorf("catalogue.go describes fault point %s, which no source passes", name)
		}
	}
	var b strings.Builder
	b.WriteString("| fault point | id | what has happened | in |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", name, faultTexts[name].id, faultTexts[name].text, strings.Join(files[name], "`, `"))
	}
	if err := page.Section(pageFile, "fault points", b.String(), *update); err != nil {
		t.Errorf("%v: %s", err, remedy)
	}
}

package sim

import (
	"fmt"
	"slices"
	"strconv"

	"microbatch/internal/sim/world"
	"microbatch/transforms"
	"microbatch/transforms/project"
)

// filters are conditions, and what they mean.
var filters = []struct {
	text string
	keep func(part int, seq int64, key string) bool
}{
	{"", func(int, int64, string) bool { return true }},
	{"part <> 0 OR seq >= 3", func(part int, seq int64, _ string) bool { return part != 0 || seq >= 3 }},
	{"key <> 'k1'", func(_ int, _ int64, key string) bool { return key != "k1" }},
	{"NOT (key IN ('k0', 'k2'))", func(_ int, _ int64, key string) bool { return key != "k0" && key != "k2" }},
	{"seq < 5", func(_ int, seq int64, _ string) bool { return seq < 5 }},
}

// selects are lists of columns, and the columns of a row that come out.
var selects = []struct {
	items []string
	row   func(row) row
}{
	{nil, func(r row) row { return r }},
	{[]string{"id", "part", "key"}, func(r row) row { return row{"id": r["id"], "part": r["part"], "key": r["key"]} }},
	{[]string{"*", "CAST(seq AS STRING) AS text"}, func(r row) row {
		return row{"id": r["id"], "part": r["part"], "key": r["key"], "seq": r["seq"], "text": r["seq"]}
	}},
}

// row is a row's columns in text, without those that are null.
type row map[string]string

// String is the row in one text, by which rows are compared.
func (r row) String() string {
	var out string
	for _, name := range []string{"id", "part", "seq", "key", "text", "more"} {
		if v, ok := r[name]; ok {
			out += name + "=" + v + " "
		}
	}
	return out
}

// transforms are the pipeline's steps; those of the changed pipeline make one column more.
func (o options) transforms(changed bool) (out []transforms.Operator) {
	if f := filters[o.Filter]; f.text != "" {
		out = append(out, project.NewFilter(f.text))
	}
	items := selects[o.Select].items
	if changed {
		if items == nil {
			items = []string{"*"}
		}
		items = append(slices.Clone(items), "key AS more")
	}
	if items != nil {
		out = append(out, project.NewSelect(items))
	}
	return out
}

func (o options) bad(part int, seq int64) bool {
	return o.BadEvery > 0 && (seq*7+int64(part))%o.BadEvery == 1
}

// fate is what becomes of a row: what is made of it by either pipeline, whose text is "" if it is filtered; or that it is rejected.
func (o options) fate(part int, seq int64) (now, changed made, rejected bool) {
	if o.bad(part, seq) {
		return now, changed, true
	}
	key := "k" + strconv.FormatInt(seq%4, 10)
	if !filters[o.Filter].keep(part, seq, key) {
		return now, changed, false
	}
	r := row{"id": world.RowID(part, seq), "part": strconv.Itoa(part), "seq": strconv.FormatInt(seq, 10), "key": key}
	r = selects[o.Select].row(r)
	now = made{text: r.String(), id: r["id"], key: r[o.Key]}
	changed = now
	r["more"] = key
	changed.text = r.String()
	return now, changed, false
}

// expectation is what a range of offsets makes.
type expectation struct {
	read, filtered int64
	made, changed  []made // by the pipeline, and by the changed one
	rejected       state  // positions
}

// expect is the model: what the ranges from begin to end make.
func (o options) expect(in input, begin, end []int64) (expectation, error) {
	e := expectation{rejected: state{}}
	for part := range end {
		at := int64(0)
		if part < len(begin) {
			at = begin[part]
		}
		if at > end[part] {
			return e, fmt.Errorf("partition %d goes back from %d to %d", part, at, end[part])
		}
		in.each(part, at, end[part], func(seq int64, position string) {
			e.read++
			switch now, changed, rejected := o.fate(part, seq); {
			case rejected:
				e.rejected[position] = ""
			case now.text == "":
				e.filtered++
			default:
				e.made, e.changed = append(e.made, now), append(e.changed, changed)
			}
		})
	}
	return e, nil
}

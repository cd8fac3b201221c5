package pgmodel

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"microbatch/sinks/postgres"
)

// The types whose values the model reads; others are hexadecimal digits.
const (
	oidBigint   = 20
	oidSmallint = 21
	oidInteger  = 23
	oidText     = 25
)

// Row is a row of the target: its columns in text, without those that are null.
type Row map[string]string

// value is a column of a staged row.
type value struct {
	text string
	null bool
}

// typesOf are the types of a batch's columns.
func (s *Server) typesOf(w *postgres.Work) (types []uint32) {
	for _, f := range w.Fields {
		oid := uint32(oidText) // of the operation
		for _, c := range s.columns {
			if c.Name == f.Target {
				oid = c.Type
			}
		}
		types = append(types, oid)
	}
	return types
}

// decode reads rows in the binary form of COPY.
func decode(data []byte, types []uint32) (rows [][]value) {
	data = data[len("PGCOPY\n\xff\r\n\x00")+8:]
	for {
		n := int16(binary.BigEndian.Uint16(data))
		data = data[2:]
		if n < 0 {
			return rows
		}
		row := make([]value, n)
		for i := range row {
			length := int32(binary.BigEndian.Uint32(data))
			data = data[4:]
			if row[i].null = length < 0; !row[i].null {
				row[i].text, data = textOf(data[:length], types[i]), data[length:]
			}
		}
		rows = append(rows, row)
	}
}

func textOf(data []byte, oid uint32) string {
	switch oid {
	case oidText:
		return string(data)
	case oidSmallint:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(data))))
	case oidInteger:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(data))))
	case oidBigint:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(data)), 10)
	}
	return hex.EncodeToString(data)
}

// stage is what a connection has staged, and what is to become of it.
type stage struct {
	work  *postgres.Work
	types []uint32
	rows  [][]value
}

// key is the row's key.
func (st *stage) key(row []value) string {
	var b strings.Builder
	for i, f := range st.work.Fields {
		if f.Key {
			b.WriteString(row[i].text)
			b.WriteByte(0)
		}
	}
	return b.String()
}

// byKey are the rows of each key, the one that counts first, in the order in which the keys came.
func (st *stage) byKey() (groups [][][]value) {
	at := map[string]int{}
	for _, row := range st.rows {
		k := st.key(row)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, st.before)
	}
	return groups
}

// before is negative if a counts rather than b: in an upsert the highest in the order does, in a ledger the lowest; nulls are lowest.
func (st *stage) before(a, b []value) int {
	for _, i := range st.work.Order {
		c := 0
		switch {
		case a[i].null || b[i].null:
			c = order(!a[i].null) - order(!b[i].null)
		case st.types[i] == oidText:
			c = cmp.Compare(a[i].text, b[i].text)
		default:
			x, _ := strconv.ParseInt(a[i].text, 10, 64)
			y, _ := strconv.ParseInt(b[i].text, 10, 64)
			c = cmp.Compare(x, y)
		}
		if c != 0 && st.work.Mode == postgres.Upsert {
			return -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tied reports whether there are rows of one key that differ and that nothing orders.
func (st *stage) tied() bool {
	return slices.ContainsFunc(st.byKey(), func(g [][]value) bool {
		return slices.ContainsFunc(g, func(row []value) bool { return st.before(g[0], row) == 0 && !slices.Equal(g[0], row) })
	})
}

// row is a staged row as the target has it.
func (st *stage) row(values []value) Row {
	r := Row{}
	for i, f := range st.work.Fields {
		if !f.Operation && !values[i].null {
			r[f.Target] = values[i].text
		}
	}
	return r
}

// deletes reports whether a row's operation is a deletion.
func (st *stage) deletes(values []value) bool {
	for i, f := range st.work.Fields {
		if f.Operation && !values[i].null {
			return slices.ContainsFunc(st.work.Deletes, func(d string) bool { return strings.EqualFold(d, values[i].text) })
		}
	}
	return false
}

// puts is how many rows apply would put into the target.
func (s *Server) puts(st *stage) (n int64) {
	if st.work.Mode == postgres.Append {
		return int64(len(st.rows))
	}
	for _, group := range st.byKey() {
		if st.work.Mode == postgres.Upsert && !st.deletes(group[0]) || st.work.Mode == postgres.Ledger && !s.applied[st.key(group[0])] {
			n++
		}
	}
	return n
}

// apply does to the target what the staged rows say.
func (s *Server) apply(st *stage) {
	if st.work.Mode == postgres.Append {
		for _, values := range st.rows {
			s.rows = append(s.rows, st.row(values))
		}
		return
	}
	for _, group := range st.byKey() {
		values := group[0]
		k, row := st.key(values), st.row(values)
		switch {
		case st.work.Mode == postgres.Upsert:
			s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(old Row) bool { return st.same(old, row) })
			if !st.deletes(values) {
				s.rows = append(s.rows, row)
			}
		case !s.applied[k]: // a ledger
			s.applied[k] = true
			s.rows = append(s.rows, row)
		}
	}
}

// same reports whether two rows have one key.
func (st *stage) same(a, b Row) bool {
	for _, f := range st.work.Fields {
		if f.Key && a[f.Target] != b[f.Target] {
			return false
		}
	}
	return true
}

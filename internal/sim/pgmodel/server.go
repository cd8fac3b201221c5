package pgmodel

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"microbatch/ident"
	"microbatch/sinks/postgres"
)

// Row is a row as it came: the bytes of each column; nil is null.
type Row []*string

// Server is a database with one target table.
type Server struct {
	columns []postgres.Column
	unique  [][]string

	mu        sync.Mutex
	made      bool // the tables
	positions map[postgres.Key]postgres.Position
	rows      []Row
	applied   map[string]bool
	locked    map[postgres.Key]*transaction
}

// New makes a server whose target will have these columns, and unique indexes on these sets of them.
func New(columns []postgres.Column, unique ...[]string) *Server {
	return &Server{
		columns: columns, unique: unique,
		positions: map[postgres.Key]postgres.Position{}, applied: map[string]bool{}, locked: map[postgres.Key]*transaction{},
	}
}

// Rows are the rows of the target as a reader sees them.
func (s *Server) Rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

// Int is the number in a column of type bigint.
func (r Row) Int(column int) int64 { return int64(binary.BigEndian.Uint64([]byte(*r[column]))) }

// key is the row's key by the fields that are of it.
func (r Row) key(w *postgres.Work) string {
	var b strings.Builder
	for i, f := range w.Fields {
		if f.Key {
			b.WriteString(*r[i])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// apply does to the rows what a batch says. The model knows no order and no operations: rows of one key are equal.
func (s *Server) apply(w *postgres.Work, batch []Row) {
	for _, r := range batch {
		switch w.Mode {
		case postgres.Upsert:
			k := r.key(w)
			s.rows = append(slices.DeleteFunc(s.rows, func(old Row) bool { return old.key(w) == k }), r)
		case postgres.Ledger:
			if k := r.key(w); !s.applied[k] {
				s.applied[k] = true
				s.rows = append(s.rows, r)
			}
		default:
			s.rows = append(s.rows, r)
		}
	}
}

// others are the queries but k that have written for its pipeline and shard.
func (s *Server) others(k postgres.Key) (out []ident.QueryID) {
	for other, p := range s.positions {
		if other.Query != k.Query && other.Shard == k.Shard && other.Pipeline == k.Pipeline && p.Batch >= 0 {
			out = append(out, other.Query)
		}
	}
	slices.SortFunc(out, cmp.Compare[ident.QueryID])
	return out
}

// decode reads rows in the binary form of COPY.
func decode(data []byte) (rows []Row) {
	data = data[len("PGCOPY\n\xff\r\n\x00")+8:]
	for {
		n := int16(binary.BigEndian.Uint16(data))
		data = data[2:]
		if n < 0 {
			return rows
		}
		row := make(Row, n)
		for i := range row {
			length := int32(binary.BigEndian.Uint32(data))
			if data = data[4:]; length >= 0 {
				value := string(data[:length])
				row[i], data = &value, data[length:]
			}
		}
		rows = append(rows, row)
	}
}

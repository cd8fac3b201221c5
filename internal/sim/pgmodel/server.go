package pgmodel

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"microbatch/ident"
	"microbatch/sinks/postgres"
)

// idleTimeout is idle_in_transaction_session_timeout of the sink's sessions.
const idleTimeout = 30 * time.Second

// Server is a database with one target table.
type Server struct {
	idle time.Duration // how long a transaction may wait for its client (D4)

	mu        sync.Mutex
	sessions  []*session
	made      bool // the table of positions
	ledger    bool // the table of applied keys
	target    bool
	columns   []postgres.Column
	unique    [][]string
	positions map[postgres.Key]postgres.Position
	rows      []Row
	applied   map[string]bool
	locked    map[postgres.Key]*transaction
}

// New makes a server without tables.
func New() *Server {
	return &Server{idle: idleTimeout, positions: map[postgres.Key]postgres.Position{}, applied: map[string]bool{}, locked: map[postgres.Key]*transaction{}}
}

// Clone is a second server with the same tables, to which nobody is connected.
func (s *Server) Clone() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Server{
		idle: s.idle, made: s.made, ledger: s.ledger, target: s.target, columns: s.columns, unique: s.unique,
		positions: maps.Clone(s.positions), rows: slices.Clone(s.rows), applied: maps.Clone(s.applied), locked: map[postgres.Key]*transaction{},
	}
}

// Rows are the rows of the target as a reader sees them. They are not to be changed.
func (s *Server) Rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

// Gone ends the sessions of a process (D3).
func (s *Server) Gone(process string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range slices.Clone(s.sessions) {
		if x.process == process {
			x.end()
		}
	}
}

// inspect says what is there.
func (s *Server) inspect() postgres.Place {
	p := postgres.Place{Server: 150000, Encoding: "UTF8", MayCreate: true, MayStage: true}
	table := func(there bool) *postgres.Table {
		if !there {
			return nil
		}
		return &postgres.Table{Kind: "r", Persistence: "p", Select: true, Insert: true, Update: true, Delete: true}
	}
	p.Positions, p.Applied, p.Target = table(s.made), table(s.ledger), table(s.target)
	if s.target {
		p.Target.Columns, p.Target.Unique = s.columns, s.unique
	}
	return p
}

// oids are the types of columns that the model knows.
var oids = map[string]uint32{"boolean": 16, "bigint": oidBigint, "smallint": oidSmallint, "integer": oidInteger, "text": oidText}

var (
	columnSQL  = regexp.MustCompile(`"([^"]+)" (boolean|bigint|smallint|integer|text)( NOT NULL)?`)
	primarySQL = regexp.MustCompile(`PRIMARY KEY \((.*?)\)`)
)

// create makes what is missing.
func (s *Server) create(definition string, ledger bool) {
	s.made, s.ledger = true, s.ledger || ledger
	if definition == "" || s.target {
		return
	}
	s.target = true
	for _, m := range columnSQL.FindAllStringSubmatch(definition, -1) {
		s.columns = append(s.columns, postgres.Column{Name: m[1], Type: oids[m[2]], TypeName: m[2], BaseName: m[2], Modifier: -1, NotNull: m[3] != ""})
	}
	if want := strings.Count(definition, ",") + 1; len(s.columns) == 0 || len(s.columns) > want {
		panic(fmt.Sprintf("pgmodel: the model does not understand %s", definition)) // a mistake of the test
	}
	if m := primarySQL.FindStringSubmatch(definition); m != nil {
		s.unique = append(s.unique, strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", "))
	}
}

// look is the position as it was committed last.
func (s *Server) look(k postgres.Key) (l postgres.Look) {
	l.Position, l.Found = s.position(k)
	for other, p := range s.positions {
		if other.Query != k.Query && other.Shard == k.Shard && other.Pipeline == k.Pipeline && p.Batch >= 0 {
			l.Others = append(l.Others, other.Query)
		}
	}
	slices.SortFunc(l.Others, cmp.Compare[ident.QueryID])
	return l
}

func (s *Server) position(k postgres.Key) (p postgres.Position, found bool) {
	if p, found = s.positions[k]; !found {
		p.Batch = ident.NoBatch
	}
	return p, found
}

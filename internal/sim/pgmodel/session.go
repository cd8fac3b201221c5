package pgmodel

import (
	"maps"
	"slices"
	"time"

	"microbatch/internal/errcode"
	"microbatch/sinks/postgres"
)

// session is a connection as the server has it. Its methods are called with the server's lock.
type session struct {
	server  *Server
	process string
	ended   bool
	number  postgres.Stage
	stage   *stage
	tx      *transaction
}

// open begins a session.
func (s *Server) open(process string) *session {
	x := &session{server: s, process: process}
	s.sessions = append(s.sessions, x)
	return x
}

// end ends the session (D3).
func (x *session) end() {
	x.ended, x.stage = true, nil
	if x.tx != nil && !x.tx.sent {
		x.tx.end()
	}
	x.server.sessions = slices.DeleteFunc(x.server.sessions, func(o *session) bool { return o == x })
}

// gone is what a client hears whose session has ended.
func gone(what string) error { return errcode.PostgresUnreachable.New("model", "%s", what) }

// transaction is what will be if it commits.
type transaction struct {
	session  *session
	locks    []postgres.Key
	written  map[postgres.Key]postgres.Position
	stage    *stage
	last     time.Time // when its client spoke last
	sent     bool      // COMMIT, which may arrive when the session has ended
	finished bool
}

func (x *session) begin() *transaction {
	x.tx = &transaction{session: x, written: map[postgres.Key]postgres.Position{}, last: time.Now()}
	return x.tx
}

// end gives the locks back.
func (t *transaction) end() {
	t.finished = true
	for _, k := range t.locks {
		delete(t.session.server.locked, k)
	}
}

// expire ends the transaction if its client has let it wait for too long (D4).
func (t *transaction) expire() {
	if !t.finished && time.Since(t.last) > t.session.server.idle {
		t.end()
		t.session.end()
	}
}

// heard is called when something arrives for the transaction.
func (t *transaction) heard() error {
	t.expire()
	if t.finished || t.session.ended && !t.sent {
		return gone("the server has ended the transaction")
	}
	t.last = time.Now()
	return nil
}

// lock locks a position, unless another transaction has it (D2).
func (t *transaction) lock(k postgres.Key) (busy bool) {
	s := t.session.server
	if other := s.locked[k]; other != nil && other != t {
		if other.expire(); !other.finished {
			return true
		}
	}
	s.locked[k] = t
	t.locks = append(t.locks, k)
	return false
}

// commit makes it so (D1).
func (t *transaction) commit() {
	s := t.session.server
	maps.Copy(s.positions, t.written)
	if t.stage != nil {
		s.apply(t.stage)
	}
	t.end()
}

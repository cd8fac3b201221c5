package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrGone ends every operation of a process that is gone.
var ErrGone = errors.New("the process is gone")

// Op is an operation: who does what where.
type Op struct {
	Process string
	Place   string // a store's name, "kafka", ...
	Kind    string // as in package faultstore: get, putifabsent, list, ...
	Key     string
}

// String is "process place kind key".
func (o Op) String() string { return fmt.Sprintf("%s %s %s %s", o.Process, o.Place, o.Kind, o.Key) }

// Writes reports whether the operation changes what outlives the process. Creating a file does not: it is empty, and nobody looks for it.
func (o Op) Writes() bool {
	switch o.Kind {
	case "put", "putifabsent", "commit", "delete", "sync", "abort":
		return true
	case "mkdir", "append", "link", "rename", "remove", "syncdir": // of a file system
		return true
	case "initproducerid", "addpartitionstotxn", "produce", "addoffsetstotxn", "txnoffsetcommit", "endtxn": // of a Kafka cluster
		return true
	}
	return false
}

// Fate is what becomes of an operation.
type Fate int

// The fates; see the package's comment.
const (
	Pass Fate = iota
	Fail
	Lose
	Late
	Die
	DieDone
)

// String names the fate.
func (f Fate) String() string {
	return [...]string{"pass", "fail", "lose", "late", "die", "die done"}[f]
}

// Verdict is a fate with the error that Fail, Lose and Late answer.
type Verdict struct {
	Fate Fate
	Err  error
	Done func(error) // if set: is told what a Pass has come to, before the process is
}

// Call is an operation before its judge.
type Call struct {
	Op
	Data []byte // what is put; nil for other kinds
	// Apply does it, whatever has become of the process; for the judge of a Late one, once.
	Apply func() error
}

// Judge decides about operations. It may wait; if ctx ends first the operation is not done.
type Judge interface {
	Judge(ctx context.Context, c Call) (Verdict, error)
}

// JudgeFunc is a judge that decides at once.
type JudgeFunc func(Op) Verdict

// Judge calls f.
func (f JudgeFunc) Judge(_ context.Context, c Call) (Verdict, error) { return f(c.Op), nil }

// Process is one simulated process.
type Process struct {
	Name  string
	judge Judge

	mu    sync.Mutex
	life  context.Context // ends with the process
	end   context.CancelFunc
	locks []io.Closer
}

// NewProcess is a living process.
func NewProcess(name string, j Judge) *Process {
	p := &Process{Name: name, judge: j}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Kill ends the process: what waits before its judge, and everything after, is not done. Its locks are free.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isGone() {
		return
	}
	p.end()
	for _, l := range p.locks {
		l.Close()
	}
}

// Life is a context that ends when the process is gone: for waiting, which is no operation.
func (p *Process) Life() context.Context { return p.life }

func (p *Process) isGone() bool { return p.life.Err() != nil }

// Do passes an operation to the judge and does what he says. act is called at most once and must not depend on ctx where its effect outlives the process.
func (p *Process) Do(ctx context.Context, place, kind, key string, act func() error) error {
	return p.pass(ctx, Call{Op: Op{p.Name, place, kind, key}, Apply: act})
}

func (p *Process) pass(ctx context.Context, c Call) error {
	act := c.Apply
	if p.isGone() {
		return ErrGone
	}
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	v, err := p.judge.Judge(live, c)
	if p.isGone() {
		return ErrGone
	}
	if err != nil {
		return err
	}
	switch v.Fate {
	case Pass:
		err = act()
		if v.Done != nil {
			v.Done(err)
		}
	case Fail, Late:
		err = v.Err
	case Lose:
		if err = act(); err == nil {
			err = v.Err
		}
	case DieDone:
		act() // nobody hears how it went
		p.Kill()
	default:
		p.Kill()
	}
	if p.isGone() {
		return ErrGone
	}
	return err
}

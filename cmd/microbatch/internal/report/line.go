package report

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"microbatch/engine"
	"microbatch/sinks"
)

// Line shows a query as one line of a terminal that is written over again and again. Log lines go above it.
type Line struct {
	Out   io.Writer
	Width func() int // of the terminal, in columns
	Now   func() time.Time
	Once  bool // the query stops when it has caught up: then its end is known

	mu     sync.Mutex
	name   string
	total  int64 // rows of the batches that are done
	began  time.Time
	meter  meter
	last   string // what stands on the line
	drawn  time.Time
	sink   string // what the last batch left behind
	reject int64
	change sinks.Changes // of all batches
	less   string        // "at most once" if batches are delivered so
}

// Listener is the line as a listener.
func (l *Line) Listener() engine.Listener {
	return engine.Listener{
		Started:    locked(l, l.started),
		Working:    locked(l, l.working),
		Progress:   locked(l, l.progress),
		Idle:       locked(l, l.idle),
		Terminated: locked(l, l.terminated),
	}
}

// locked keeps events and log lines, which come from other goroutines, out of each other's way.
func locked[T any](l *Line, f func(T)) func(T) {
	return func(v T) {
		l.mu.Lock()
		defer l.mu.Unlock()
		f(v)
	}
}

// Log is a logger whose lines stand above the live line.
func (l *Line) Log() *slog.Logger { return slog.New(&lineLog{line: l}) }

// lineLog writes log records for people.
type lineLog struct {
	line  *Line
	attrs string
}

// Enabled leaves debugging out.
func (h *lineLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle writes one line: "note: message key=value".
func (h *lineLog) Handle(_ context.Context, r slog.Record) error {
	text := "note: " + r.Message + h.attrs
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.above(text)
	return nil
}

// WithAttrs adds attributes to each line.
func (h *lineLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	for _, a := range attrs {
		out.attrs += " " + a.String()
	}
	return &out
}

// WithGroup ignores groups: the lines are for people.
func (h *lineLog) WithGroup(string) slog.Handler { return h }

func (l *Line) started(s engine.Started) {
	l.name, l.began = s.Name, l.Now()
	l.above(fmt.Sprintf("%s: %s", s.Name, s.Plan))
	l.above(s.Guarantee)
}

// drawEvery keeps a query with tiny batches from spending its time on the terminal.
const drawEvery = 100 * time.Millisecond

func (l *Line) working(w engine.Working) {
	now := l.Now()
	if now.Sub(l.drawn) < drawEvery {
		return
	}
	l.drawn = now
	rate := l.meter.add(now, l.total+w.Rows)
	parts := []string{fmt.Sprintf("%s  batch %d", l.name, w.Batch)}
	if l.Once && w.Planned >= 0 && w.Behind >= 0 {
		all := l.total + w.Planned + w.Behind
		share := 1.0
		if all > 0 {
			share = float64(l.total+w.Rows) / float64(all)
		}
		parts = append(parts, fmt.Sprintf("%s %3.0f%%", bar(share, 20), 100*min(1, share)))
	}
	parts = append(parts, count(rate)+" rows/s", count(float64(l.total+w.Rows))+" rows")
	if w.Behind >= 0 {
		parts = append(parts, count(float64(w.Behind))+" behind")
	}
	parts = append(parts, w.Phase.String())
	l.draw(strings.Join(append(parts, l.tail()...), "  "))
}

func (l *Line) tail() []string {
	var out []string
	if l.reject > 0 {
		out = append(out, count(float64(l.reject))+" rejected")
	}
	for _, c := range []struct {
		rows int64
		name string
	}{{l.change.Inserted, "inserted"}, {l.change.Updated, "updated"}, {l.change.Deleted, "deleted"}, {l.change.Unchanged, "unchanged"}} {
		if c.rows > 0 {
			out = append(out, count(float64(c.rows))+" "+c.name)
		}
	}
	if l.sink != "" {
		out = append(out, l.sink)
	}
	if l.less != "" {
		out = append(out, l.less)
	}
	return out
}

func (l *Line) progress(p engine.Progress) {
	l.total += p.InputRows
	l.reject += p.Rejected
	if c := p.Sink.Changes; c != nil {
		l.change.Inserted += c.Inserted
		l.change.Updated += c.Updated
		l.change.Deleted += c.Deleted
		l.change.Unchanged += c.Unchanged
	}
	if p.Delivery == engine.AtMostOnce.String() {
		l.less = "at most once"
	}
	if p.Sink.Version >= 0 {
		l.sink = fmt.Sprintf("table version %d", p.Sink.Version)
	}
	now := l.Now()
	if now.Sub(l.drawn) < drawEvery {
		return
	}
	l.drawn = now
	rate := l.meter.add(now, l.total)
	parts := []string{fmt.Sprintf("%s  batch %d done", l.name, p.Batch), count(rate) + " rows/s", count(float64(l.total)) + " rows"}
	if p.Behind >= 0 {
		parts = append(parts, count(float64(p.Behind))+" behind")
	}
	l.draw(strings.Join(append(parts, l.tail()...), "  "))
}

func (l *Line) idle(engine.Idle) {
	parts := append([]string{l.name + "  waiting for data", count(float64(l.total)) + " rows"}, l.tail()...)
	l.draw(strings.Join(parts, "  "))
}

func (l *Line) terminated(error) {
	l.clear()
	if l.began.IsZero() {
		return
	}
	d := l.Now().Sub(l.began)
	parts := append([]string{fmt.Sprintf("%s  %s rows in %s", l.name, count(float64(l.total)), span(d))}, l.tail()...)
	fmt.Fprintln(l.Out, strings.Join(parts, "  "))
}

// above prints a line that stays, over the live one.
func (l *Line) above(text string) {
	live := l.last
	l.clear()
	fmt.Fprintln(l.Out, printable(text))
	if live != "" {
		l.draw(live)
	}
}

func (l *Line) clear() {
	if l.last != "" {
		fmt.Fprint(l.Out, "\r\x1b[K")
	}
	l.last = ""
}

func (l *Line) draw(text string) {
	text = printable(text)
	if width := l.Width(); width > 1 && utf8.RuneCountInString(text) >= width {
		text = string([]rune(text)[:width-1])
	}
	fmt.Fprint(l.Out, "\r"+text+"\x1b[K")
	l.last = text
}

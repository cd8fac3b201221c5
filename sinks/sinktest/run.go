package sinktest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/sinks"
)

// Harness is a place with a sink under test.
type Harness struct {
	// Open opens the sink at the place, as a new process would.
	Open func(t *testing.T) sinks.Sink
	// Rows are the ids of the rows that a reader sees, in any order.
	Rows func(t *testing.T) []int64
	// State describes everything stored at the place, for what must not be written. Nil: not tested.
	State func(t *testing.T) string
	// LoseAnswer makes the next commit's answer be lost, so that its outcome is Uncertain; landed says whether it took effect. Nil: not tested.
	LoseAnswer func(t *testing.T, landed bool)
}

// Run runs the suite. place makes a fresh place for each test.
func Run(t *testing.T, place func(t *testing.T) Harness) {
	tests := []struct {
		name string
		run  func(*testing.T, Harness)
		ids  bool // the sink must keep batch ids
	}{
		{"K1 nothing is visible before commit and all after it", atomic, false},
		{"K1 an aborted attempt leaves nothing and the next one counts", aborted, false},
		{"K1 a part that fails leaves nothing", failed, false},
		{"K2 id digest and epoch are stored with the rows", stored, true},
		{"K2 an empty batch is stored too", empty, true},
		{"K3 a visible batch is not committed again", again, true},
		{"K3 a visible batch with another digest is an error", foreign, true},
		{"K3 a batch behind the visible one is an error", behind, true},
		{"K4 an older epoch is refused", fenced, true},
		{"K4 an epoch alone fences", fencedAlone, true},
		{"K5 after an unknown outcome nothing is deleted", uncertain, true},
		{"K6 check and visible write nothing", readOnly, false},
		{"another query of the pipeline is told", others, true},
	}
	keeps := keepsIDs(t, place)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.ids && !keeps {
				t.Skip("the sink keeps no batch ids")
			}
			test.run(t, place(t))
		})
	}
}

func keepsIDs(t *testing.T, place func(t *testing.T) Harness) bool {
	t.Helper()
	s := place(t).Open(t)
	defer s.Close()
	v, err := s.Visible(t.Context(), Query("q", 1))
	if err != nil {
		t.Fatalf("visible: %v", err)
	}
	return v.Keeps
}

func wantRows(t *testing.T, h Harness, want ...int64) {
	t.Helper()
	got := h.Rows(t)
	slices.Sort(got)
	if diff := cmp.Diff(append([]int64{}, want...), append([]int64{}, got...)); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func atomic(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	p := d.Prepare(0, "a", []int64{1, 2}, []int64{3})
	if got := p.Staged(); got.Rows != 3 || got.Changes != nil && *got.Changes != (sinks.Changes{Inserted: 3}) {
		t.Errorf("staged %d rows, %+v, want 3, inserted if the sink tells", got.Rows, got.Changes)
	}
	wantRows(t, h)
	d.Finish(sinks.Committed, p)
	wantRows(t, h, 1, 2, 3)
	d.Commit(sinks.Committed, 1, "a", []int64{4})
	wantRows(t, h, 1, 2, 3, 4)
}

func aborted(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	before := state(t, h)
	p := d.Prepare(0, "a", []int64{1, 2})
	if err := d.Sink.Abort(t.Context(), p); err != nil {
		t.Fatalf("abort: %v", err)
	}
	wantState(t, h, before)
	wantRows(t, h)
	d.Commit(sinks.Committed, 0, "a", []int64{1, 2})
	wantRows(t, h, 1, 2)
}

func failed(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	before := state(t, h)
	b := Batch(0, "a", d.Alloc, []int64{1})
	b.Parts = append(b.Parts, broken(d.Alloc, 2, 3))
	if _, err := d.Sink.Prepare(t.Context(), b); err == nil {
		t.Fatal("prepare hides the error of a part")
	}
	wantState(t, h, before)
	d.Commit(sinks.Committed, 0, "a", []int64{1, 2, 3})
	wantRows(t, h, 1, 2, 3)
}

func stored(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 7), nil)
	if v := d.Visible(); v.Batch != ident.NoBatch {
		t.Fatalf("fresh: batch %s is visible", v.Batch)
	}
	for id := range ident.BatchID(3) {
		d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
		want := sinks.Visible{Keeps: true, Batch: id, Digest: ident.DigestOf(Entry(id, "a")).Stored(id), HasDigest: true, Epoch: 7}
		if diff := cmp.Diff(want, d.Visible()); diff != "" {
			t.Fatalf("visible (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, looked(t, h, Query("q", 7))); diff != "" {
			t.Fatalf("visible to a new process (-want +got):\n%s", diff)
		}
	}
}

// looked is what a process sees that only looks.
func looked(t *testing.T, h Harness, q sinks.QueryInfo) sinks.Visible {
	t.Helper()
	s := h.Open(t)
	defer s.Close()
	if err := s.Check(t.Context(), Schema()); err != nil {
		t.Fatalf("check: %v", err)
	}
	v, err := s.Visible(t.Context(), q)
	if err != nil {
		t.Fatalf("visible: %v", err)
	}
	return v
}

func empty(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a")
	d.Commit(sinks.Committed, 1, "a", []int64{})
	if v := d.Visible(); v.Batch != 1 {
		t.Fatalf("batch %s is visible, want 1", v.Batch)
	}
	wantRows(t, h)
}

func again(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	p := d.Prepare(0, "a", []int64{1, 2})
	d.Finish(sinks.Committed, p)
	d.Finish(sinks.AlreadyCommitted, p)
	wantRows(t, h, 1, 2)
	d.Commit(sinks.AlreadyCommitted, 0, "a", []int64{1, 2})
	next := Start(t, h, Query("q", 2), &sinks.Intent{ID: 0, Digest: ident.DigestOf(Entry(0, "a")), Entry: Entry(0, "a")})
	next.Commit(sinks.AlreadyCommitted, 0, "a", []int64{1, 2})
	wantRows(t, h, 1, 2)
	next.Commit(sinks.Committed, 1, "a", []int64{3})
	wantRows(t, h, 1, 2, 3)
}

func wantError(t *testing.T, d *Driver, p sinks.Pending) {
	t.Helper()
	if r, err := d.Sink.Commit(t.Context(), p); err == nil {
		t.Fatalf("commit: %s, want an error", r.Outcome)
	}
}

func foreign(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	wantError(t, d, d.Prepare(0, "b", []int64{2}))
	wantRows(t, h, 1)
}

func behind(t *testing.T, h Harness) {
	d := Start(t, h, Query("q", 1), nil)
	for id := range ident.BatchID(3) {
		d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
	}
	wantError(t, d, d.Prepare(1, "a", []int64{1}))
	wantRows(t, h, 0, 1, 2)
}

func fenced(t *testing.T, h Harness) {
	old := Start(t, h, Query("q", 1), nil)
	old.Commit(sinks.Committed, 0, "a", []int64{1})
	staged := old.Prepare(1, "a", []int64{2})
	// The newer driver has other offsets for batch 2 on, so the old one's rows must not come in behind them.
	newer := Start(t, h, Query("q", 2), nil)
	newer.Commit(sinks.Committed, 1, "a", []int64{2})
	newer.Commit(sinks.Committed, 2, "new", []int64{3})
	if r, err := old.Sink.Commit(t.Context(), staged); err != nil || r.Outcome != sinks.Fenced && r.Outcome != sinks.AlreadyCommitted {
		t.Fatalf("the very batch that the newer driver committed: %s, %v, want fenced or already committed", r.Outcome, err)
	}
	old.Commit(sinks.Fenced, 2, "old", []int64{4})
	old.Commit(sinks.Fenced, 3, "old", []int64{5})
	wantRows(t, h, 1, 2, 3)
}

func fencedAlone(t *testing.T, h Harness) {
	old := Start(t, h, Query("q", 1), nil)
	staged := old.Prepare(0, "a", []int64{1})
	s := h.Open(t)
	defer s.Close()
	f, ok := s.(sinks.Fencer)
	if !ok {
		t.Skip("the sink commits no epoch alone")
	}
	if err := s.Check(t.Context(), Schema()); err != nil {
		t.Fatalf("check: %v", err)
	}
	if err := f.Fence(t.Context(), Query("q", 2)); err != nil {
		t.Fatalf("fence: %v", err)
	}
	old.Finish(sinks.Fenced, staged)
	if v := old.Visible(); v.Epoch != 2 || v.Batch != ident.NoBatch {
		t.Fatalf("visible after the fence: %+v", v)
	}
	wantRows(t, h)
}

func uncertain(t *testing.T, h Harness) {
	if h.LoseAnswer == nil {
		t.Skip("the harness loses no answers")
	}
	for _, landed := range []bool{true, false} {
		id := ident.BatchID(0)
		if !landed {
			id = 1
		}
		d := Start(t, h, Query("q", ident.Epoch(id)*2+1), nil)
		p := d.Prepare(id, "a", []int64{int64(id)*10 + 1, int64(id)*10 + 2})
		h.LoseAnswer(t, landed)
		r, err := d.Sink.Commit(t.Context(), p)
		if err != nil {
			t.Fatalf("landed %v: %v", landed, err)
		}
		if r.Outcome == sinks.Committed && landed {
			continue // the sink found its own commit again
		}
		if r.Outcome != sinks.Uncertain {
			t.Fatalf("landed %v: %s, want uncertain", landed, r.Outcome)
		}
		next := Start(t, h, Query("q", ident.Epoch(id)*2+2), nil)
		want := sinks.Committed
		if next.Visible().Batch == id {
			want = sinks.AlreadyCommitted
		}
		next.Commit(want, id, "a", []int64{int64(id)*10 + 1, int64(id)*10 + 2})
	}
	wantRows(t, h, 1, 2, 11, 12)
}

func readOnly(t *testing.T, h Harness) {
	look := func() {
		s := h.Open(t)
		defer s.Close()
		before := state(t, h)
		if err := s.Check(t.Context(), Schema()); err != nil {
			t.Fatalf("check: %v", err)
		}
		if _, err := s.Visible(t.Context(), Query("q", 9)); err != nil {
			t.Fatalf("visible: %v", err)
		}
		wantState(t, h, before)
	}
	look()
	d := Start(t, h, Query("q", 1), nil)
	staged := d.Prepare(0, "a", []int64{1})
	look()
	d.Finish(sinks.Committed, staged) // epoch 9 was only mentioned, not claimed
	look()
	wantRows(t, h, 1)
}

func others(t *testing.T, h Harness) {
	Start(t, h, Query("q1", 1), nil).Commit(sinks.Committed, 0, "a", []int64{1})
	d := Start(t, h, Query("q2", 1), nil)
	if diff := cmp.Diff([]ident.QueryID{"q1"}, d.Visible().Others); diff != "" {
		t.Fatalf("others (-want +got):\n%s", diff)
	}
	d.Commit(sinks.Committed, 0, "b", []int64{2})
	wantRows(t, h, 1, 2)
}

func state(t *testing.T, h Harness) string {
	t.Helper()
	if h.State == nil {
		return ""
	}
	return h.State(t)
}

func wantState(t *testing.T, h Harness, want string) {
	t.Helper()
	if diff := cmp.Diff(want, state(t, h)); diff != "" {
		t.Fatalf("stored state changed (-before +after):\n%s", diff)
	}
}

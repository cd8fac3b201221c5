package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"microbatch/sources"
)

func sameRowsForAnyWant(b *bench) {
	src := b.open()
	r := b.plan(src, "", sources.Limit{})
	one := b.read(src, r, 1)
	for _, want := range []int{2, 3, 16} {
		b.equal("rows of several splits", one, b.read(src, r, want))
	}
	splits := b.splits(src, r, 4)
	slices.Reverse(splits)
	b.equal("rows of splits pulled backwards", one, b.pull(src, splits))
	b.equal("rows of splits pulled at once", one, b.pullAtOnce(src, b.splits(src, r, 4)))
}

// pullAtOnce reads each split in a goroutine of its own.
func (b *bench) pullAtOnce(src sources.Source, splits []sources.Split) []string {
	b.Helper()
	var mu sync.Mutex
	var all []string
	var errs error
	var wg sync.WaitGroup
	for _, split := range splits {
		wg.Go(func() {
			rows, err := drain(b.Context(), src, split)
			mu.Lock()
			defer mu.Unlock()
			all, errs = append(all, rows...), errors.Join(errs, err)
		})
	}
	wg.Wait()
	if errs != nil {
		b.Fatal(errs)
	}
	slices.Sort(all)
	return all
}

func sameRowsLater(b *bench) {
	src := b.open()
	first := b.plan(src, "", sources.Limit{})
	rows := b.read(src, first, 2)
	b.subject.Feed(b.T, 1000)
	second := b.plan(src, first.to, sources.Limit{})
	b.read(src, second, 2)
	b.equal("rows read again", rows, b.read(src, first, 2))
	b.equal("rows read in another process", rows, b.read(b.open(), first, 2))
}

func rangesInAnyOrder(b *bench) {
	src := b.open()
	ranges := b.plans(src, "", b.subject.Step)
	if len(ranges) < 3 {
		b.Fatalf("%d ranges: the Subject's Step does not cut", len(ranges))
	}
	var once [][]string
	for _, r := range ranges {
		once = append(once, b.read(src, r, 2))
	}
	for i := len(ranges) - 1; i >= 0; i-- {
		if len(once[i]) > 0 {
			b.equal("rows of ranges read backwards", once[i], b.read(src, ranges[i], 1))
		}
	}
	// The next range is opened before the splits of the one before were all pulled.
	former := b.splits(src, ranges[0], 3)
	rows := b.pull(src, former[:1])
	next := b.splits(src, ranges[1], 2)
	rows = append(rows, b.pull(src, former[1:])...)
	slices.Sort(rows)
	b.equal("rows of a range beside the next", once[0], rows)
	if len(once[1]) > 0 {
		b.equal("rows of the next range", once[1], b.pull(src, next))
	}
	// Three ranges are open at once, and pulled in turn.
	var open [][]sources.Split
	for _, r := range ranges[:3] {
		open = append(open, b.splits(src, r, 2))
	}
	for i := len(open) - 1; i >= 0; i-- {
		if len(once[i]) > 0 {
			b.equal("rows of ranges open at once", once[i], b.pullAtOnce(src, open[i]))
		}
	}
}

func emptyRange(b *bench) {
	src := b.open()
	r := b.plan(src, "", sources.Limit{})
	splits := b.splits(src, span{from: r.to, to: r.to}, 2)
	if rows := b.pull(src, splits); len(rows) > 0 {
		b.Fatalf("an empty range holds %d rows", len(rows))
	}
}

func canonicalOffsets(b *bench) {
	src := b.open()
	if err := src.Freeze(b.Context()); err != nil { // so that both ways end at one position
		b.Fatalf("Freeze: %v", err)
	}
	whole := b.plan(src, "", sources.Limit{})
	steps := b.plans(src, "", b.subject.Step)
	if end := steps[len(steps)-1].to; end != whole.to {
		b.Errorf("the same position is %q and %q", whole.to, end)
	}
	for _, r := range append(steps, whole) {
		if text := string(r.to); !json.Valid([]byte(text)) || strings.ContainsAny(text, " \n\t") {
			b.Errorf("the offset %q is not JSON without spaces", text)
		}
	}
}

func rangesWithoutHoles(b *bench) {
	src := b.open()
	whole := b.plan(src, "", sources.Limit{})
	rows := b.read(src, whole, 2)
	var pieces []string
	from := whole.from
	limit := b.subject.Step
	for from != whole.to {
		r := b.plan(src, from, limit)
		p, err := src.Plan(b.Context(), from, limit)
		if err != nil {
			b.Fatal(err)
		}
		if p.Available == "" {
			b.Fatal("Plan does not say what is available")
		}
		pieces = append(pieces, b.read(src, r, 2)...)
		from = r.to
		if len(pieces) > len(rows) {
			break
		}
	}
	slices.Sort(pieces)
	b.equal("rows of all ranges", rows, pieces)
}

func frozenEnd(b *bench) {
	src := b.open()
	if err := src.Freeze(b.Context()); err != nil {
		b.Fatalf("Freeze: %v", err)
	}
	whole := b.plan(src, "", sources.Limit{})
	rows := b.read(src, whole, 2)
	b.subject.Feed(b.T, 1000)
	p, err := src.Plan(b.Context(), whole.to, sources.Limit{})
	if err != nil {
		b.Fatal(err)
	}
	if p.To != whole.to || p.Available != whole.to {
		b.Errorf("a frozen source goes on from %s to %s", whole.to, p.To)
	}
	var pieces []string
	for _, r := range b.plans(src, "", b.subject.Step) {
		pieces = append(pieces, b.read(src, r, 1)...)
	}
	slices.Sort(pieces)
	b.equal("rows of limited ranges up to the frozen end", rows, pieces)
	other := b.open() // another driver has read on: what was frozen lies behind
	beyond, err := other.Plan(b.Context(), whole.to, sources.Limit{})
	if err != nil {
		b.Fatal(err)
	}
	if p, err = src.Plan(b.Context(), beyond.To, sources.Limit{}); err != nil || p.To != beyond.To || p.Rows != 0 {
		b.Errorf("a frozen source that is asked beyond its end goes from %s to %s, %d rows: %v", beyond.To, p.To, p.Rows, err)
	}
}

func initialPosition(b *bench) {
	src := b.unpinned()
	for info, err := range b.own.List(b.Context(), "", "") {
		b.Fatalf("Open wrote %s (%v)", info.Key, err)
	}
	if err := src.Pin(b.Context()); err != nil {
		b.Fatalf("Pin: %v", err)
	}
	if err := src.Pin(b.Context()); err != nil {
		b.Fatalf("second Pin: %v", err)
	}
	first := b.plan(src, "", sources.Limit{})
	rows := b.read(src, first, 1)
	b.subject.Feed(b.T, 1000)
	other := b.open()
	b.equal("rows from the pinned position", rows, b.read(other, first, 1))
	if !other.Schema().Equal(src.Schema()) {
		b.Errorf("another process has the schema %s, not %s", other.Schema(), src.Schema())
	}
	if a, b2 := src.Describe(), other.Describe(); a.Kind == "" || a.Kind != b2.Kind || a.Name != b2.Name {
		b.Errorf("descriptions differ: %v, %v", a, b2)
	}
}

func positionsAddUp(b *bench) {
	src := b.open()
	for _, want := range []int{1, 4} {
		for _, r := range b.plans(src, "", b.subject.Step) {
			splits := b.splits(src, r, want)
			rows := b.pull(src, splits)
			if err := addUp(splits, len(rows)); err != nil {
				b.Fatalf("range [%s, %s): %v", r.from, r.to, err)
			}
		}
	}
}

// addUp does what the engine does with the positions of a range.
func addUp(splits []sources.Split, rows int) error {
	var seen int64
	want, covered := map[string]int64{}, map[string]int64{}
	for _, split := range splits {
		p := split.Reached()
		seen += p.Rows
		for _, u := range p.Units {
			if w, ok := want[u.Name]; ok && w != u.Want {
				return errors.New("splits disagree on the length of " + u.Name)
			}
			want[u.Name] = u.Want
			covered[u.Name] += u.Covered
		}
	}
	if seen != int64(rows) {
		return fmt.Errorf("the positions count %d rows, %d came", seen, rows)
	}
	for name, w := range want {
		if covered[name] != w {
			return fmt.Errorf("%s: covered %d of %d", name, covered[name], w)
		}
	}
	return nil
}

func leftEarly(b *bench) {
	src := b.open()
	r := b.plan(src, "", sources.Limit{})
	splits := b.splits(src, r, 4)
	for chunk, err := range splits[0].Records(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		chunk.Release()
		break
	}
	b.pull(src, splits[1:])
	b.splits(src, r, 4) // opened and never pulled
	rows := b.read(src, r, 2)
	b.equal("rows after a split was left early", rows, b.read(src, r, 1))
}

func releaseForgetsTheRest(b *bench) {
	src := b.open()
	ranges := b.plans(src, "", b.subject.Step)
	var rows [][]string
	for _, r := range ranges {
		rows = append(rows, b.read(src, r, 1))
	}
	for i, r := range ranges {
		var wg sync.WaitGroup
		var err error
		wg.Go(func() { err = src.Release(b.Context(), r.to) })
		if i+1 < len(ranges) && len(rows[i+1]) > 0 {
			b.equal("rows read beside Release", rows[i+1], b.read(src, ranges[i+1], 2))
		}
		wg.Wait()
		if err != nil {
			b.Fatalf("Release up to %s: %v", r.to, err)
		}
	}
}

func cancelled(b *bench) {
	src := b.open()
	r := b.plan(src, "", sources.Limit{})
	ctx, cancel := context.WithCancel(b.Context())
	splits, err := src.Splits(ctx, r.from, r.to, r.aux, 2)
	if err != nil {
		b.Fatal(err)
	}
	cancel()
	for _, split := range splits {
		if _, err := drain(ctx, src, split); err != nil && !errors.Is(err, context.Canceled) {
			b.Errorf("a cancelled split ends with %v", err)
		}
	}
	b.read(src, r, 2)
}

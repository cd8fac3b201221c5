package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sources"
)

// Splits shares a range between up to want readers. Each takes whatever slab comes next: any one of them can read all of it, and none waits for another.
// An empty range is checked like any other: opened after a restart at the end of the last batch, with its facts, it says whether the topics are still those and their logs whole.
func (s *Source) Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]sources.Split, error) {
	lanes, around, err := s.lanes(ctx, from, to, aux)
	if err != nil {
		return nil, err
	}
	r := &run{source: s, lanes: lanes, index: map[partitionName]int{}}
	total := int64(0)
	for i, l := range lanes {
		r.index[l.name] = i
		total += l.to - l.from
	}
	if total > 0 {
		if r.feed, r.number, err = s.feeds.get(s, lanes, around); err != nil {
			return nil, err
		}
	}
	splits := make([]sources.Split, max(1, min(int64(want), (total+batch.TargetRows-1)/batch.TargetRows)))
	for i := range splits {
		splits[i] = &split{run: r, covered: make([]int64, len(lanes))}
	}
	return splits, nil
}

// lanes are the partitions that a range holds something of, after the checks that it can be read as it was planned, and the leaders that were checked.
func (s *Source) lanes(ctx context.Context, from, to ident.Offset, aux map[string]string) (lanes []lane, around cluster, err error) {
	f, err := parseFacts(aux)
	if err != nil {
		return nil, around, err
	}
	start, err := s.positionOf(from)
	if err != nil {
		return nil, around, err
	}
	stop, err := parsePosition(to)
	if err != nil {
		return nil, around, err
	}
	for name := range start.all {
		if _, ok := stop.get(name.topic, name.partition); !ok {
			return nil, around, errcode.KafkaOffsetUnreadable.New(name.String(), "the range begins with the partition and ends without it")
		}
	}
	if around, err = s.same(ctx, to, stop, f); err != nil {
		return nil, around, err
	}
	if err := s.fillStarts(ctx, start, stop, f); err != nil {
		return nil, around, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, end := range stop.all {
		l := lane{name: name, id: s.ids[name.topic], from: start[name.topic][name.partition], to: end}
		if l.from > l.to {
			return nil, around, errcode.KafkaOffsetUnreadable.New(name.String(), "the range goes from %d back to %d", l.from, l.to)
		}
		if lost, ok := f.lost.get(name.topic, name.partition); ok {
			l.lost = lost[1]
		}
		if l.from < l.to {
			lanes = append(lanes, l)
		}
	}
	return lanes, around, nil
}

// same checks that the topics are those of the plan, and that their logs were not cut since, as far as the leaders are known.
func (s *Source) same(ctx context.Context, to ident.Offset, stop position, f facts) (cluster, error) {
	around := s.lastSeen()
	for name := range stop.all {
		if _, ok := around.leaders.get(name.topic, name.partition); ok {
			continue
		}
		v, err := s.survey(ctx, stop) // the partition may have come after the last look
		if err != nil {
			return around, err
		}
		around = v.cluster
		break
	}
	for topic, id := range f.topicIDs {
		if now := around.ids[topic]; id.differs(now) {
			return around, recreated(topic, id, now)
		}
	}
	reigns := byPartition[mark]{}
	for name, l := range around.leaders.all {
		reigns.set(name.topic, name.partition, mark{epoch: l.epoch})
	}
	if err := s.notCut(ctx, around, reigns, stop, f.epochs); err != nil {
		return around, err
	}
	s.rememberEpochs(to, f.epochs)
	return around, nil
}

// fillStarts adds to start the partitions that are new in the range: where the plan says, else (Spark's plan says nothing) at their first offset.
func (s *Source) fillStarts(ctx context.Context, start, stop position, f facts) error {
	for name, at := range f.starts.all {
		start.set(name.topic, name.partition, at)
	}
	unknown := cluster{leaders: byPartition[leader]{}}
	for name := range stop.all {
		if _, ok := start.get(name.topic, name.partition); !ok {
			unknown.leaders.set(name.topic, name.partition, leader{})
		}
	}
	earliest, err := s.offsetsAt(ctx, unknown, everywhere(atEarliest), s.config.Isolation)
	if err != nil {
		return err
	}
	for name, first := range earliest.all {
		start.set(name.topic, name.partition, min(first.offset, stop[name.topic][name.partition]))
	}
	return nil
}

// run is one reading of a range, by all its splits.
type run struct {
	source *Source
	lanes  []lane
	index  map[partitionName]int // into lanes

	mu     sync.Mutex
	feed   *feed // nil: the range is empty
	number int   // of the range, among those of the feed
}

// take waits for the next slab; nil: the range has no more. A feed that was closed because others were needed more is replaced.
func (r *run) take(ctx context.Context) (*slab, error) {
	for {
		f, number := r.current()
		if f == nil {
			return nil, nil
		}
		sl, err := f.take(ctx, number)
		if !errors.Is(err, errClosed) {
			return sl, err
		}
		if err := r.rewarm(f); err != nil {
			return nil, err
		}
	}
}

func (r *run) current() (f *feed, number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feed, r.number
}

func (r *run) rewarm(closed *feed) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.feed != closed {
		return nil // another split was first
	}
	r.number = 0
	r.feed, err = r.source.feeds.rewarm(r.source, closed)
	return err
}

// split is one reader.
type split struct {
	run     *run
	rows    int64
	covered []int64 // by lane
}

// Reached adds up over the splits of a range.
func (p *split) Reached() sources.Position {
	reached := sources.Position{Rows: p.rows}
	for i, l := range p.run.lanes {
		reached.Units = append(reached.Units, sources.Unit{Name: l.name.String(), Want: l.to - l.from, Covered: p.covered[i]})
	}
	return reached
}

// Records takes slabs and decodes them until the range has no more.
func (p *split) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		w, err := newWriter(p.run.source, yield)
		if err != nil {
			yield(batch.Chunk{}, err)
			return
		}
		defer w.release()
		for {
			sl, err := p.run.take(ctx)
			if err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			if sl == nil {
				w.flush()
				return
			}
			more, err := w.write(sl)
			if err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			p.cover(sl, w)
			if !more {
				return
			}
		}
	}
}

func (p *split) cover(sl *slab, w *writer) {
	p.covered[p.run.index[sl.name]] += sl.to - sl.from
	p.rows = w.rows
}

// writer turns slabs into chunks.
type writer struct {
	source   *Source
	yield    func(batch.Chunk, error) bool
	decoder  codec.Decoder
	metadata *metadata
	arena    arena

	rejected      []batch.Rejected
	rejectedBytes int64
	rows          int64 // seen, decoded or rejected
	stopped       bool  // the receiver wants no more
}

func newWriter(s *Source, yield func(batch.Chunk, error) bool) (*writer, error) {
	d, err := s.config.Format.NewDecoder(s.values, s.config.Alloc)
	if err != nil {
		return nil, fmt.Errorf("kafka: decoder: %w", err)
	}
	fields := s.output.Fields()
	m := newMetadata(s.config, fields[len(fields)-len(s.config.Metadata):], s.config.Alloc)
	return &writer{source: s, yield: yield, decoder: d, metadata: m}, nil
}

// write decodes a slab. more is false when the receiver has had enough.
func (w *writer) write(sl *slab) (more bool, err error) {
	records, err := w.source.parse(sl, &w.arena)
	if err != nil {
		return false, err
	}
	var bytes int64
	for _, r := range records {
		bytes += int64(len(r.Key) + len(r.Value))
		if err := w.record(r); err != nil {
			return false, err
		}
		if w.full() && !w.flush() {
			return false, nil
		}
	}
	w.source.seen.records.Add(int64(len(records)))
	w.source.seen.bytes.Add(bytes)
	return true, nil
}

func (w *writer) record(r *kgo.Record) error {
	w.rows++
	err := w.decoder.Decode(r.Value)
	if err == nil {
		w.metadata.add(r)
		return nil
	}
	reject, ok := errors.AsType[*codec.Reject](err)
	if !ok {
		return fmt.Errorf("kafka: %s-%d-%d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	raw := bytes.Clone(r.Value[:min(len(r.Value), batch.MaxRaw)])
	w.rejected = append(w.rejected, batch.Rejected{
		Position: fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Offset),
		Reason:   reject.Error(),
		Raw:      raw,
	})
	w.rejectedBytes += int64(len(raw))
	return nil
}

func (w *writer) full() bool {
	return w.decoder.Rows() >= batch.TargetRows || w.decoder.Bytes() >= batch.TargetBytes || w.rejectedBytes >= batch.TargetBytes || len(w.rejected) >= batch.TargetRows
}

// flush yields what there is.
func (w *writer) flush() bool {
	if w.stopped || w.decoder.Rows() == 0 && len(w.rejected) == 0 {
		return !w.stopped
	}
	chunk := batch.Chunk{Rejected: w.rejected}
	var record arrow.RecordBatch
	if w.decoder.Rows() > 0 {
		record = w.metadata.join(w.decoder.Flush(), w.source.output)
		chunk.Record = record
	}
	w.rejected, w.rejectedBytes = nil, 0
	w.stopped = !w.yield(chunk, nil)
	return !w.stopped
}

func (w *writer) release() {
	w.arena.reset(&w.source.scratch)
	w.decoder.Release()
	w.metadata.release()
}

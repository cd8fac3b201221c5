package kafka

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/sources"
)

// How often metadata and end offsets that cannot be true are asked for again before they are believed (T9: they may be stale for a moment).
const doubtfulTries = 4

// guessedRecord is the size of a record before any was seen.
const guessedRecord = 1 << 10

// rememberedEnds is how many ranges may be open or planned ahead at once, and some more.
const rememberedEnds = 4

// survey is what there is to read.
type survey struct {
	cluster
	earliest, ends byPartition[mark]
}

// Plan asks for the ends of all partitions and cuts the range to the limit, each partition in proportion to what it has waiting.
func (s *Source) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	start, err := s.positionOf(from)
	if err != nil {
		return sources.Planned{}, err
	}
	v, err := s.survey(ctx, start)
	if err != nil {
		return sources.Planned{}, err
	}
	if err := s.checkEpochs(ctx, v, from, start); err != nil {
		return sources.Planned{}, err
	}
	s.watchStalls(ctx, v, start)
	return s.plan(from, start, v, limit)
}

// positionOf reads an offset; the empty one is the initial position.
func (s *Source) positionOf(from ident.Offset) (position, error) {
	if from == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return clonePosition(s.initial), nil
	}
	return parsePosition(from)
}

// survey looks until what it sees can be true, seen from a position, or gives up with the error that it then is.
func (s *Source) survey(ctx context.Context, start position) (survey, error) {
	for try := 1; ; try++ {
		v, err := s.look(ctx)
		if err == nil {
			err = v.plausible(start)
		}
		doubtful := errcode.Has(err, errcode.KafkaPartitionVanished) || errcode.Has(err, errcode.KafkaTruncated) || err == nil && v.outdated()
		if !doubtful || try == doubtfulTries {
			return v, err
		}
		if err := sleep(ctx, s.pause); err != nil {
			return v, err
		}
	}
}

func (s *Source) look(ctx context.Context) (v survey, err error) {
	if v.cluster, err = s.lookAround(ctx); err != nil {
		return v, err
	}
	if err := s.recognise(v.cluster); err != nil {
		return v, err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		v.earliest, err = s.offsetsAt(ctx, v.cluster, everywhere(atEarliest), s.config.Isolation)
		return err
	})
	both.Go(func() (err error) {
		isolation := s.config.Isolation
		if bugs.Is(bugs.PlanToTheEnd) {
			isolation = ReadUncommitted
		}
		v.ends, err = s.offsetsAt(ctx, v.cluster, everywhere(atLatest), isolation)
		return err
	})
	err = both.Wait()
	for name, end := range v.ends.all { // an old broker leaves it out
		if end.epoch < 0 {
			v.ends.set(name.topic, name.partition, mark{end.offset, v.leaders[name.topic][name.partition].epoch})
		}
	}
	return v, err
}

// outdated reports whether a partition has another leader since the metadata were made: what is planned is of his reign, and would be taken for records of the one before,
// whose log ended earlier.
func (v survey) outdated() bool {
	for name, end := range v.ends.all {
		if l, _ := v.leaders.get(name.topic, name.partition); end.epoch > l.epoch {
			return true
		}
	}
	return false
}

// plausible reports known partitions that are missing and ends that went back.
func (v survey) plausible(start position) error {
	for name, offset := range start.all {
		end, ok := v.ends.get(name.topic, name.partition)
		if !ok && bugs.Is(bugs.ForgetPartitions) {
			continue
		}
		if !ok {
			return errcode.KafkaPartitionVanished.New(name.String(), "the cluster's metadata no longer list the partition, which was read up to offset %d", offset)
		}
		if end.offset < offset {
			return errcode.KafkaTruncated.New(name.String(), "the log ends at offset %d, but it was read up to %d", end.offset, offset)
		}
	}
	return nil
}

// checkEpochs asks where the epochs end in which the position was reached, if others reign now: an end before the position says that the log was
// cut and has grown again, with other records (KIP-320).
func (s *Source) checkEpochs(ctx context.Context, v survey, from ident.Offset, start position) error {
	epochs, known := s.epochsOf(from)
	if !known {
		return nil
	}
	return s.notCut(ctx, v.cluster, v.ends, start, epochs)
}

// rememberEpochs keeps the leader epochs of a few ends: that of the range being read, and those read ahead.
func (s *Source) rememberEpochs(to ident.Offset, epochs byPartition[int32]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = append(s.last, reached{to, epochs})
	s.last = s.last[max(0, len(s.last)-rememberedEnds):]
}

func (s *Source) epochsOf(o ident.Offset) (byPartition[int32], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.last {
		if r.offset == o {
			return r.epochs, true
		}
	}
	return nil, false
}

func (s *Source) notCut(ctx context.Context, c cluster, ends byPartition[mark], at position, epochs byPartition[int32]) error {
	past := byPartition[int32]{}
	for name, epoch := range epochs.all {
		if end, ok := ends.get(name.topic, name.partition); ok && epoch >= 0 && end.epoch > epoch {
			past.set(name.topic, name.partition, epoch)
		}
	}
	if len(past) == 0 {
		return nil
	}
	cuts, err := s.endsOfEpochs(ctx, c, past)
	if err != nil {
		return err
	}
	for name, cut := range cuts.all {
		if offset := at[name.topic][name.partition]; cut >= 0 && cut < offset {
			return errcode.KafkaTruncated.New(name.String(), "the log of leader epoch %d ends at offset %d, but it was read up to %d: what follows are other records",
				past[name.topic][name.partition], cut, offset)
		}
	}
	return nil
}

// plan decides the end of the range.
func (s *Source) plan(from ident.Offset, start position, v survey, limit sources.Limit) (sources.Planned, error) {
	f := newFacts()
	begin, available := position{}, position{}
	total := int64(0)
	for name, end := range v.ends.all {
		at, err := s.begin(name, start, v, f)
		if err != nil {
			return sources.Planned{}, err
		}
		stop, known := s.cap(name, end.offset)
		if _, read := start.get(name.topic, name.partition); !known && !read {
			continue // it came after Freeze
		}
		begin.set(name.topic, name.partition, at)
		available.set(name.topic, name.partition, max(at, stop))
		f.epochs.set(name.topic, name.partition, end.epoch)
		f.topicIDs[name.topic] = v.ids[name.topic]
		total += max(0, stop-at)
	}
	to := position{}
	rows := int64(0)
	most := s.rowLimit(limit)
	for name, stop := range available.all {
		at := begin[name.topic][name.partition]
		share := share(stop-at, total, most)
		rows += share
		to.set(name.topic, name.partition, at+share)
	}
	aux, err := f.encode()
	if err != nil {
		return sources.Planned{}, err
	}
	return sources.Planned{To: keepText(from, start, to), Available: text(available), Aux: aux, Rows: rows, Behind: total - rows}, nil
}

// begin is where a partition's range begins: at the position, or at the first offset of a partition that is new, or after what retention removed.
func (s *Source) begin(name partitionName, start position, v survey, f facts) (int64, error) {
	first := v.earliest[name.topic][name.partition].offset
	at, known := start.get(name.topic, name.partition)
	if !known {
		at = 0
		if _, topic := start[name.topic]; !topic {
			at = first // a topic that the pattern matches from now on: whatever it holds
		}
		f.starts.set(name.topic, name.partition, at)
	}
	if at >= first {
		return at, nil
	}
	lost := span{at, first}
	if s.config.OnDataLoss == Fail && !bugs.Is(bugs.ResetToEarliest) {
		return 0, errcode.KafkaDataLost.New(name.String(), "retention removed the offsets %s (%d of them) before they were read", lost, first-at)
	}
	s.tellLoss(name, lost)
	f.lost.set(name.topic, name.partition, lost)
	return first, nil
}

// tellLoss gives a notice of a skipped range, once.
func (s *Source) tellLoss(name partitionName, lost span) {
	s.mu.Lock()
	before, known := s.told.get(name.topic, name.partition)
	s.told.set(name.topic, name.partition, lost)
	s.mu.Unlock()
	if !known || before != lost {
		s.config.Notice(fmt.Sprintf("kafka: %s: skipped the offsets %s, %d of them, which retention removed before they were read", name, lost, lost[1]-lost[0]))
	}
}

// cap is the end of what is read of a partition: its end now, or that at Freeze. known is false for a partition that Freeze has not seen.
func (s *Source) cap(name partitionName, end int64) (stop int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil {
		return end, true
	}
	stop, known = s.frozen.get(name.topic, name.partition)
	return min(end, stop), known
}

// rowLimit is the most rows that a range may have; 0 is no limit. Bytes are taken for rows at the mean size of those decoded so far.
func (s *Source) rowLimit(limit sources.Limit) int64 {
	most := limit.Rows
	if limit.Bytes > 0 {
		size := int64(guessedRecord)
		if n := s.seen.records.Load(); n > 0 {
			size = max(1, s.seen.bytes.Load()/n)
		}
		if byBytes := max(1, limit.Bytes/size); most == 0 || byBytes < most {
			most = byBytes
		}
	}
	return most
}

// share is a partition's part of a limited range, like Spark's: in proportion to what waits, and at least one row, so that each partition makes progress.
func share(waiting, total, limit int64) int64 {
	if limit <= 0 || total <= limit || waiting <= 0 {
		return max(0, waiting)
	}
	part := int64(float64(limit) * (float64(waiting) / float64(total)))
	return min(waiting, max(1, part))
}

// keepText is the text of the end, and that of the start to the byte if nothing moved, whoever wrote it.
func keepText(from ident.Offset, start, to position) ident.Offset {
	if from != "" && text(start) == text(to) {
		return from
	}
	return text(to)
}

// Freeze takes what is there now as the end of everything.
func (s *Source) Freeze(ctx context.Context) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	frozen := position{}
	for name, end := range v.ends.all {
		frozen.set(name.topic, name.partition, end.offset)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = frozen
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

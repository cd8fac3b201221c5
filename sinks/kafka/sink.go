package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
	"microbatch/sinks"
)

// Sink writes batches to Kafka; see sinks.Sink for what its methods promise. One goroutine uses it.
type Sink struct {
	cfg     Config
	cluster Cluster

	columns layout // since Check
	topic   Topic  // since Check
	limits  Limits // since Check

	mu       sync.Mutex // Describe and Guarantee may be called at any time
	topicID  string
	query    sinks.QueryInfo // since Recover or Fence
	producer Producer        // nil: none is claimed
	seen     marker          // as it was when the producer was claimed, and since its own commits
}

var (
	_ sinks.Sink       = (*Sink)(nil)
	_ sinks.Fencer     = (*Sink)(nil)
	_ sinks.Maintainer = (*Sink)(nil)
	_ sinks.Orderer    = (*Sink)(nil)
)

// New makes a sink, or lists all that is wrong with the configuration. Nothing is contacted before Check.
func New(c Config) (*Sink, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Sink{cfg: c, cluster: c.Cluster, seen: marker{batch: ident.NoBatch}}
	if s.cluster == nil {
		var err error
		if s.cluster, err = newBrokers(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Describe names the topic as the identity of the sink, with what decides where its marker is.
func (s *Sink) Describe() ident.Description {
	d := ident.Description{
		Kind:     "kafka",
		Name:     "KafkaSink[" + s.cfg.Topic + "]",
		Identity: map[string]any{"topic": s.cfg.Topic, "mode": string(s.cfg.Mode)},
		Evolution: map[string]any{
			"topic_column": s.cfg.TopicColumn, "key": s.cfg.Key, "headers": s.cfg.Headers, "partition": s.cfg.Partition,
			"operation_column": s.cfg.Operation, "delete_values": s.cfg.Deletes,
			"format": s.cfg.Format, "value": s.cfg.Value, "commit_group": s.cfg.CommitGroup,
		},
		Learned: map[string]string{},
	}
	if s.cfg.Details != "" {
		d.Evolution["format_details"] = s.cfg.Details
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topicID != "" {
		d.Learned["topic_id"] = s.topicID
	}
	return d
}

// Ordered reports whether records have an order that a reader relies on: those of a key, or of a partition that a column names.
func (s *Sink) Ordered() bool { return s.cfg.Key != "" || s.cfg.Partition != "" }

// Check compares the columns with what records are made of, with the registry that keeps their schema, and the topic and the brokers' limits with the settings. It writes nothing.
func (s *Sink) Check(ctx context.Context, in *arrow.Schema) (err error) {
	if in != nil { // else only an epoch is to be committed
		if s.columns, err = newLayout(s.cfg, in); err != nil {
			return err
		}
		if s.cfg.Schemas != nil {
			if err := s.cfg.Schemas.Check(ctx, s.columns.restSchema); err != nil {
				return fmt.Errorf("the schema of the values: %w", err)
			}
		}
	}
	if err := s.cfg.access().Readable(); err != nil {
		return err
	}
	if s.topic, err = s.lookUp(ctx, s.cfg.Topic); err != nil {
		return err
	}
	s.mu.Lock()
	s.topicID = s.topic.ID
	s.mu.Unlock()
	if s.cfg.Mode == Idempotent {
		return nil
	}
	if err := s.checkLimits(ctx); err != nil || s.cfg.CommitGroup == "" {
		return err
	}
	return s.checkGroup(ctx)
}

func (s *Sink) lookUp(ctx context.Context, topic string) (found Topic, err error) {
	err = s.ask(ctx, "look up topic "+topic, func(ctx context.Context) (err error) {
		found, err = s.cluster.Topic(ctx, topic)
		if errors.Is(err, fs.ErrNotExist) {
			return errcode.KafkaSinkTopic.New(topic, "the topic does not exist on %s", s.cfg.access())
		}
		return err
	})
	return found, err
}

// checkLimits compares the timeout with what the brokers allow, as far as they tell.
func (s *Sink) checkLimits(ctx context.Context) error {
	err := s.ask(ctx, "ask for the brokers' limits", func(ctx context.Context) (err error) {
		s.limits, err = s.cluster.Limits(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if most := s.limits.Transaction; most > 0 && s.cfg.Timeout > most {
		return errcode.KafkaSinkTimeout.New("", "transaction_timeout is %s, and the brokers allow at most %s (transaction.max.timeout.ms)", s.cfg.Timeout, most)
	}
	return nil
}

// checkGroup refuses a commit_group that somebody consumes with: the brokers would take the positions of both.
func (s *Sink) checkGroup(ctx context.Context) error {
	consumed := false
	err := s.ask(ctx, "look up group "+s.cfg.CommitGroup, func(ctx context.Context) (err error) {
		consumed, err = s.cluster.Consumed(ctx, s.cfg.CommitGroup)
		return err
	})
	if err == nil && consumed {
		return errcode.KafkaSinkGroup.New("group "+s.cfg.CommitGroup, "it has members now: they and this query would overwrite each other's positions")
	}
	return err
}

// markerAt is where the marker hangs.
func (s *Sink) markerAt() Partition { return Partition{s.cfg.Topic, 0} }

// Visible reads the marker. It fences nothing, so a transaction may be open: see settled.
func (s *Sink) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	if s.cfg.Mode == Idempotent {
		return sinks.Visible{Batch: ident.NoBatch}, nil
	}
	m, err := s.settled(ctx, q)
	if err != nil {
		return sinks.Visible{}, err
	}
	v := m.visible()
	if m.epoch == 0 {
		v.Behind = lost
		v.Others, err = s.others(ctx, q)
	}
	return v, err
}

// lost says what it means when the checkpoint has recorded more than the marker holds.
const lost = "The marker of the query is gone: Kafka forgets the positions of a group offsets.retention.minutes after the last one (7 days unless set), when the topic is deleted, and " +
	"when the group is deleted or reset. The records are in the topic as they were. Look at the end of the last recorded batch with `microbatch checkpoint show`, make it " +
	"source.kafka.start.offsets of a new checkpoint, and start that once with --new-query. See docs/sinks-kafka.md, the marker."

// settled is the marker of a query.
func (s *Sink) settled(ctx context.Context, q sinks.QueryInfo) (m marker, err error) {
	group := name(q)
	err = s.ask(ctx, "read the marker of group "+group, func(ctx context.Context) (err error) {
		m, err = s.read(ctx, group)
		return err
	})
	return m, err
}

// read reads the marker of a group when nothing is under way, or as it is beside a transaction that is open: that one can still be committed, so one batch may be
// missing, which the checkpoint has not recorded. While a transaction is about to end it is ErrUnstable: its batch may be recorded already.
func (s *Sink) read(ctx context.Context, group string) (marker, error) {
	p, err := s.cluster.Committed(ctx, group, s.markerAt(), true)
	if errors.Is(err, ErrUnstable) {
		open, oerr := s.cluster.Open(ctx, group)
		if oerr == nil && open {
			p, err = s.cluster.Committed(ctx, group, s.markerAt(), false)
		}
	}
	if err != nil {
		return marker{batch: ident.NoBatch}, err
	}
	return parseMarker(p, group)
}

// others are the other queries of our pipeline and shard that have markers at the topic. They are asked for when there is none of ours.
func (s *Sink) others(ctx context.Context, q sinks.QueryInfo) (ids []ident.QueryID, err error) {
	err = s.ask(ctx, "look for markers of other queries", func(ctx context.Context) error {
		ids = nil
		groups, err := s.cluster.Groups(ctx, namePrefix)
		if err != nil {
			return err
		}
		for _, group := range groups {
			m, err := s.read(ctx, group)
			if kafkaclient.NotAuthorized(err) || errcode.Has(err, errcode.KafkaSinkMarker) {
				continue
			}
			if err != nil {
				return err
			}
			if m.epoch > 0 && m.query != q.ID && m.pipeline == q.Name && m.shard == q.Shard.String() {
				ids = append(ids, m.query)
			}
		}
		return nil
	})
	return ids, err
}

// Recover takes the transactional id over: what an earlier driver left open is aborted. Then the schema of the values is registered, if it has to be.
func (s *Sink) Recover(ctx context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	s.discard()
	s.setQuery(q)
	if err := s.claim(ctx); err != nil || s.cfg.Schemas == nil || s.columns.restSchema == nil {
		return err
	}
	if err := s.cfg.Schemas.Register(ctx, s.columns.restSchema); err != nil {
		return fmt.Errorf("the schema of the values: %w", err)
	}
	return nil
}

// Fence takes the transactional id over and commits the epoch alone, with the batch that is visible.
func (s *Sink) Fence(ctx context.Context, q sinks.QueryInfo) error {
	if s.cfg.Mode == Idempotent {
		return nil
	}
	s.discard()
	s.setQuery(q)
	if err := s.claim(ctx); err != nil {
		return err
	}
	return s.mark(ctx)
}

func (s *Sink) setQuery(q sinks.QueryInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.query = q
}

// Guarantee is exactly once with transactions, for readers of committed records.
func (s *Sink) Guarantee() guarantee.Link {
	l := guarantee.Link{Name: "writing to the Kafka topic " + s.cfg.Topic, BatchLimit: s.cfg.Timeout}
	if s.cfg.TopicColumn != "" {
		l.Name = "writing to the Kafka topics in " + s.cfg.TopicColumn + ", or " + s.cfg.Topic
	}
	if s.cfg.Format != "json" && s.cfg.Format != "raw" {
		l.Name += " as " + s.cfg.Format
	}
	if s.cfg.Schemas != nil {
		l.Readers = []string{"take the schema of each record from the schema registry, by the id that it begins with"}
	}
	if s.cfg.Mode == Idempotent {
		l.BatchLimit, l.Level, l.Repeats = 0, guarantee.AtLeastOnce, true
		l.Reason = "records are written without a transaction (mode: idempotent), and a batch that runs again writes them again"
		l.Remedy = "mode: transactional"
		l.Visible = "each record by itself, as soon as it is written, before its batch is done"
		return l
	}
	parts := []string{"records", "batch id", "digest", "epoch"}
	if s.cfg.CommitGroup != "" {
		parts = append(parts, "the positions of group "+s.cfg.CommitGroup)
	}
	l.Reason = strings.Join(parts, ", ") + " become visible in one Kafka transaction, and a batch whose marker is visible is not written again"
	l.Visible = "all records of a batch at once, with the end of its transaction, to readers of committed records"
	l.Readers = append(l.Readers, "set isolation.level=read_committed: the default of most clients, read_uncommitted, also shows records of attempts that were aborted")
	return l
}

// Close ends all connections. A transaction that is open is left to the next claim of its id, or to its timeout.
func (s *Sink) Close() error {
	s.discard()
	s.cluster.Close()
	return nil
}

// refreshed says how old a marker may get before an idle query writes it again: a quarter of what the brokers keep, and no more than a day.
func (s *Sink) refreshed() time.Duration {
	const day = 24 * time.Hour
	if kept := s.limits.Retention; kept > 0 && kept < 4*day {
		return kept / 4
	}
	return day
}

// Maintain writes the marker again when it is getting old, so that the brokers do not forget it while there is nothing to write.
func (s *Sink) Maintain(ctx context.Context, now time.Time) error {
	if s.producer == nil || s.seen.epoch == 0 || now.Sub(s.seen.at) < s.refreshed() {
		return nil
	}
	if err := s.mark(ctx); err != nil {
		return fmt.Errorf("refresh the marker: %w", err)
	}
	return nil
}

package kafka

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/schema"
)

// Source reads Kafka topics; see sources.Source for what its methods promise.
type Source struct {
	config  Config
	pattern *regexp.Regexp // nil: topics are named
	pause   time.Duration  // before doubtful metadata are asked for again
	now     func() time.Time

	// Set by Open.
	client     Client
	disconnect func() // ends the client, if it is ours
	unpack     kgo.Decompressor
	own        objstore.Store
	values     *arrow.Schema // of the decoded values, before metadata columns
	output     *arrow.Schema
	seen       traffic
	feeds      feeds
	shelf      shelf
	scratch    scratch
	closed     atomic.Bool
	stalls     stalls
	reports    *reports // nil without GroupID

	mu       sync.Mutex
	initial  position
	pinned   bool               // the initial position, and an inferred schema, are durable
	inferred bool               // values was inferred and is pinned beside it
	ids      map[string]topicID // as first met
	around   cluster            // as last seen
	frozen   position           // nil: not frozen
	last     []reached          // the ends of the last ranges opened
	told     byPartition[span]  // lost ranges that a notice has named
}

// reached is a position with the leader epochs it lies in.
type reached struct {
	offset ident.Offset
	epochs byPartition[int32]
}

// traffic is what has been decoded so far.
type traffic struct{ records, bytes atomic.Int64 }

// New makes a source, or lists all that is wrong with the configuration. Nothing is contacted before Open.
func New(c Config) (*Source, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Source{config: c, pause: time.Second, now: time.Now, ids: map[string]topicID{}, told: byPartition[span]{}}
	if c.Pattern != "" {
		s.pattern = regexp.MustCompile("^(?:" + c.Pattern + ")$")
	}
	return s, nil
}

// Describe names the topics as the identity of the source; broker addresses, limits and logins may change freely.
func (s *Source) Describe() ident.Description {
	d := ident.Description{
		Kind:      "kafka",
		Name:      fmt.Sprintf("KafkaV2[Subscribe%v]", s.config.Topics),
		Identity:  map[string]any{"topics": s.config.Topics, "isolation": string(s.config.Isolation)},
		Evolution: map[string]any{"format": s.config.Format.Kind(), "metadata": s.config.Metadata, "prefix": s.config.Prefix},
		Learned:   map[string]string{},
	}
	if s.pattern != nil {
		d.Name = "KafkaV2[SubscribePattern[" + s.config.Pattern + "]]"
		d.Identity = map[string]any{"pattern": s.config.Pattern, "isolation": string(s.config.Isolation)}
	}
	if s.config.Schema != nil {
		d.Evolution["schema"] = schema.FormatDDL(s.config.Schema)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, id := range s.ids {
		if id != (topicID{}) {
			d.Learned["topic_id."+topic] = id.String()
		}
	}
	return d
}

// Open connects and finds the topics, the initial position and the schema. Refused logins and impossible starts are errors at once, topics
// that do not exist after some seconds; brokers that do not answer are waited for.
func (s *Source) Open(ctx context.Context, own objstore.Store) (err error) {
	if err := s.config.access().Readable(); err != nil {
		return err
	}
	if err = s.connect(); err != nil {
		return err
	}
	s.own = own
	if err := s.open(ctx); err != nil {
		s.disconnect() // Open may be called again
		s.client = nil
		return err
	}
	if s.config.GroupID != "" {
		s.reports = newReports(s)
	}
	return nil
}

func (s *Source) open(ctx context.Context) error {
	c, err := s.findTopics(ctx)
	if err != nil {
		return err
	}
	if err := s.recognise(c); err != nil {
		return err
	}
	if err := s.findInitial(ctx, c); err != nil {
		return err
	}
	if err := s.findSchema(ctx); err != nil {
		return err
	}
	return s.decideOutput()
}

// findTopics looks around until all topics are there, or gives up with the error that one does not exist: metadata may lack it for a moment.
func (s *Source) findTopics(ctx context.Context) (cluster, error) {
	for try := 1; ; try++ {
		c, err := s.lookAround(ctx)
		if err == nil {
			err = s.present(c)
		}
		if !errcode.Has(err, errcode.KafkaTopicMissing) || try == doubtfulTries {
			return c, err
		}
		if err := sleep(ctx, s.pause); err != nil {
			return c, err
		}
	}
}

// present reports topics that do not exist.
func (s *Source) present(c cluster) error {
	for _, topic := range s.config.Topics {
		if len(c.leaders[topic]) == 0 {
			return errcode.KafkaTopicMissing.New(topic, "the topic does not exist on %s", s.brokers())
		}
	}
	if len(c.leaders) == 0 {
		return errcode.KafkaTopicMissing.New(s.config.Pattern, "no topic on %s matches the pattern", s.brokers())
	}
	return nil
}

// recognise takes c for what is around, unless a topic is not the one that it was.
func (s *Source) recognise(c cluster) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, id := range c.ids {
		if known := s.ids[topic]; known.differs(id) {
			return recreated(topic, known, id)
		}
	}
	for topic, id := range c.ids {
		if s.ids[topic] == (topicID{}) {
			s.ids[topic] = id
		}
	}
	s.around = c
	return nil
}

func (s *Source) knownIDs() map[string]topicID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.ids)
}

func (s *Source) lastSeen() cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.around
}

func recreated(topic string, known, id topicID) error {
	return errcode.KafkaTopicRecreated.New(topic, "the topic was deleted and created again: its id was %s and is now %s", known, id)
}

// Schema is the columns of the values, then the metadata columns.
func (s *Source) Schema() *arrow.Schema { return s.output }

// decideOutput puts the columns together.
func (s *Source) decideOutput() error {
	decoded, err := s.config.Format.Output(s.values)
	if err != nil {
		return fmt.Errorf("kafka: schema: %w", err)
	}
	added, err := metadataFields(s.config)
	if err != nil {
		return err
	}
	s.output = decoded
	if len(added) == 0 {
		return nil
	}
	joined := arrow.NewSchema(append(decoded.Fields(), added...), nil)
	if err := schema.CheckNames(joined); err != nil {
		return errcode.KafkaOptions.Wrap(err, "", "metadata columns and the columns of the values must have different names").
			Advise("Leave the metadata column out, or rename the column of the values in source.schema.")
	}
	s.output = joined
	return nil
}

// Close ends the fetchers and all connections; the last progress is committed to the group, if there is one. A second call does nothing.
func (s *Source) Close() error {
	if s.closed.Swap(true) || s.client == nil {
		return nil
	}
	if s.reports != nil {
		s.reports.close()
	}
	s.feeds.close()
	s.disconnect()
	return nil
}

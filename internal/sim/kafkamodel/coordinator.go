package kafkamodel

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// transactional is a transactional id, as its coordinator has it.
//
//	InitProducerID --> empty --Add...--> ongoing --EndTxn--> prepared --markers--> complete --Add...--> ongoing
//	                                        '--- InitProducerID, or its time is over: the epoch is raised, then as aborted
type transactional struct {
	identity
	timeout time.Duration
	state   state
	commit  bool            // of one that is prepared or complete
	began   time.Time       // of one that is ongoing
	ends    time.Time       // of one that is prepared: when its markers are written
	txn     *Txn            // of one that is ongoing or prepared
	groups  map[string]bool // whose positions may be part of it
}

// identity is a producer. Who has an older epoch is refused.
type identity struct {
	producer int64
	epoch    int16
}

// state is where a transactional id stands.
type state int

const (
	empty    state = iota // never had a transaction under this epoch
	ongoing               // something was added
	prepared              // it has been decided how it ends
	complete              // it has ended
)

// longestTransaction is transaction.max.timeout.ms.
const longestTransaction = 15 * time.Minute

// firstProducer is the first id that the coordinator gives, above those that tests choose for themselves.
const firstProducer = 1_000_000

// tick does what time does: transactions that were decided end, those that have taken too long are decided, and positions are forgotten. Everything that asks does it first.
func (c *Cluster) tick() {
	now := time.Now()
	c.asked = now
	for _, name := range slices.Sorted(maps.Keys(c.ids)) {
		id := c.ids[name]
		if id.state == ongoing && now.Sub(id.began) >= id.timeout {
			id.fence(c, now)
		}
		if id.state == prepared && !now.Before(id.ends) {
			id.complete(c)
		}
	}
	c.expire(now)
}

// fence raises the epoch, so that the producer is refused from here on, and aborts what it has left open.
func (id *transactional) fence(c *Cluster, now time.Time) {
	id.epoch++
	id.txn.epoch = id.epoch // the markers have the new one
	id.prepare(c, false, now)
}

func (id *transactional) prepare(c *Cluster, commit bool, now time.Time) {
	id.state, id.commit, id.ends = prepared, commit, now.Add(c.config.Settling)
}

// complete writes the markers: from here on readers see how the transaction has ended.
func (id *transactional) complete(c *Cluster) {
	id.txn.end(id.commit)
	for name := range id.groups {
		c.group(name).end(id.producer, id.commit)
	}
	id.state, id.txn, id.groups = complete, nil, map[string]bool{}
}

// initProducerID gives a producer its id and epoch. A transaction that is under way is aborted, and whoever asks has to ask again until it has ended.
func (c *Cluster) initProducerID(name string, timeout time.Duration) (identity, error) {
	if name == "" {
		return c.newProducer(), nil
	}
	if timeout > longestTransaction {
		return identity{}, kerr.InvalidTransactionTimeout
	}
	id := c.ids[name]
	switch {
	case id == nil:
		id = &transactional{identity: c.newProducer(), groups: map[string]bool{}}
		c.ids[name] = id
	case id.state == ongoing:
		id.fence(c, time.Now())
		return identity{}, kerr.ConcurrentTransactions
	case id.state == prepared:
		return identity{}, kerr.ConcurrentTransactions
	default:
		id.epoch++
	}
	id.state, id.timeout = empty, timeout
	return id.identity, nil
}

func (c *Cluster) newProducer() identity {
	c.given++
	return identity{producer: firstProducer + c.given}
}

// admit is the transactional id of a producer that asks its coordinator, if it is still his.
func (c *Cluster) admit(name string, who identity) (*transactional, error) {
	id := c.ids[name]
	switch {
	case id == nil || id.producer != who.producer:
		return nil, kerr.InvalidProducerIDMapping
	case id.epoch != who.epoch:
		return nil, kerr.ProducerFenced
	}
	return id, nil
}

// add is an ongoing transaction of a producer, which begins with the first thing that is added to it.
func (c *Cluster) add(name string, who identity) (*transactional, error) {
	id, err := c.admit(name, who)
	if err != nil {
		return nil, err
	}
	if id.state == prepared {
		return nil, kerr.ConcurrentTransactions
	}
	if id.state != ongoing {
		id.state, id.began, id.txn = ongoing, time.Now(), c.begin(id.producer, id.epoch)
	}
	return id, nil
}

// addPartitions is AddPartitionsToTxn: all or none.
func (c *Cluster) addPartitions(name string, who identity, at []place) error {
	for _, p := range at {
		if _, ok := c.partition(p.topic, p.partition); !ok {
			return kerr.UnknownTopicOrPartition
		}
	}
	id, err := c.add(name, who)
	if err != nil {
		return err
	}
	for _, p := range at {
		id.txn.join(c, p.topic, p.partition)
	}
	return nil
}

// addOffsets is AddOffsetsToTxn.
func (c *Cluster) addOffsets(name string, who identity, group string) error {
	id, err := c.add(name, who)
	if err == nil {
		id.groups[group] = true
	}
	return err
}

// verify is what a partition, or the coordinator of a group, does before it takes something for a transaction: it knows the epochs, and asks whether it is part of it.
func (c *Cluster) verify(name string, who identity, part func(*transactional) bool) error {
	id := c.ids[name]
	switch {
	case id == nil || id.producer != who.producer:
		return kerr.InvalidProducerIDMapping
	case id.epoch != who.epoch:
		return kerr.InvalidProducerEpoch
	case id.state != ongoing || !part(id):
		return kerr.TransactionAbortable
	}
	return nil
}

// commitInTransaction is TxnOffsetCommit.
func (c *Cluster) commitInTransaction(name string, who identity, group string, at []place, what []position) error {
	if err := c.verify(name, who, func(id *transactional) bool { return id.groups[group] }); err != nil {
		return err
	}
	var failed error
	for i, p := range at {
		switch _, ok := c.partition(p.topic, p.partition); {
		case !ok:
			failed = kerr.UnknownTopicOrPartition
		case len(what[i].metadata) > mostMetadata:
			failed = kerr.OffsetMetadataTooLarge
		default:
			what[i].at = time.Now()
			c.group(group).add(who.producer, p, what[i])
		}
	}
	return failed
}

// produce is Produce of one batch to one partition; name "": without a transaction. What is sent once more is there already.
func (c *Cluster) produce(name string, who identity, at place, first int32, records []Record) error {
	p, ok := c.partition(at.topic, at.partition)
	if !ok {
		return kerr.UnknownTopicOrPartition
	}
	b := &stored{gzip: c.config.Gzip, producer: who.producer, producerEpoch: who.epoch, records: records, transactional: name != ""}
	if b.transactional {
		if err := c.verify(name, who, func(id *transactional) bool { return id.txn.has(at.topic, at.partition) }); err != nil {
			return err
		}
	}
	s := p.sequences[who.producer]
	if s.epoch != who.epoch {
		s = sequence{epoch: who.epoch}
	}
	switch {
	case first < s.next:
		return nil
	case first > s.next:
		return kerr.OutOfOrderSequenceNumber
	}
	s.next += int32(len(records))
	p.sequences[who.producer] = s
	p.log.append(b)
	return nil
}

// endTransaction is EndTxn. It is answered when the end is decided; readers see it later.
func (c *Cluster) endTransaction(name string, who identity, commit bool) error {
	id, err := c.admit(name, who)
	switch {
	case err != nil:
		return err
	case id.state == ongoing:
		id.prepare(c, commit, time.Now())
		return nil
	case id.state == empty || id.commit != commit:
		return kerr.InvalidTxnState
	case id.state == prepared:
		return kerr.ConcurrentTransactions
	}
	return nil
}

// Settle ends all transactions that were decided, as waiting would.
func (c *Cluster) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	for _, name := range slices.Sorted(maps.Keys(c.ids)) {
		if id := c.ids[name]; id.state == prepared {
			id.complete(c)
		}
	}
}

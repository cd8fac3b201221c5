package kafka

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// marker says which batch of a query is visible, and who committed it.
type marker struct {
	batch  ident.BatchID // ident.NoBatch: none
	digest ident.Digest  // of the batch
	epoch  ident.Epoch   // 0: nobody has committed yet
	entry  string
	at     time.Time

	query    ident.QueryID
	pipeline string
	shard    string
}

// name is the query's transactional id and the group of its marker.
func name(q sinks.QueryInfo) string {
	if shard := q.Shard.String(); shard != "" {
		return namePrefix + string(q.ID) + "-" + shard
	}
	return namePrefix + string(q.ID)
}

const namePrefix = "microbatch-"

// metadata is the marker as it stands in Kafka, beside the offset.
type metadata struct {
	Version  int       `json:"v"`
	Query    string    `json:"query"`
	Pipeline string    `json:"pipeline"`
	Shard    string    `json:"shard,omitempty"`
	Batch    int64     `json:"batch"`
	Digest   string    `json:"digest,omitempty"`
	Epoch    int64     `json:"epoch"`
	Entry    string    `json:"entry"`
	At       time.Time `json:"at"`
}

// position is the marker as a position of its group. The offset is the next batch, so that "none yet" is 0 and not an offset that Kafka takes for nothing.
func (m marker) position() (Position, error) {
	text := metadata{
		Version: 1, Query: string(m.query), Pipeline: m.pipeline, Shard: m.shard, Batch: int64(m.batch), Epoch: int64(m.epoch), Entry: m.entry, At: m.at.UTC().Truncate(time.Second),
	}
	if m.batch != ident.NoBatch {
		text.Digest = m.digest.String()
	}
	line, err := json.Marshal(text)
	return Position{Offset: int64(m.batch) + 1, Metadata: string(line)}, err
}

// parseMarker reads a position. Nothing committed is a marker without batch.
func parseMarker(p Position, group string) (marker, error) {
	none := marker{batch: ident.NoBatch}
	if p.Offset < 0 {
		return none, nil
	}
	var text metadata
	if err := json.Unmarshal([]byte(p.Metadata), &text); err != nil {
		return none, errcode.KafkaSinkMarker.Wrap(err, "group "+group, "its metadata %.200q are not what this program writes", p.Metadata)
	}
	digest, err := hex.DecodeString(text.Digest)
	if text.Version != 1 || text.Batch+1 != p.Offset || err != nil || text.Epoch < 1 || (len(digest) != len(ident.Digest{})) != (text.Batch == int64(ident.NoBatch)) {
		return none, errcode.KafkaSinkMarker.New("group "+group, "offset %d and metadata %.400q do not fit each other, or are of a newer version", p.Offset, p.Metadata)
	}
	m := marker{
		batch: ident.BatchID(text.Batch), epoch: ident.Epoch(text.Epoch), entry: text.Entry, at: text.At,
		query: ident.QueryID(text.Query), pipeline: text.Pipeline, shard: text.Shard,
	}
	copy(m.digest[:], digest)
	return m, nil
}

// is reports whether the marker is of this very batch.
func (m marker) is(id ident.BatchID, digest ident.Digest) bool {
	return id != ident.NoBatch && m.batch == id && m.digest == digest
}

// markerOf is the marker of a batch that a driver commits; of its epoch alone, with the batch that is visible already.
func markerOf(q sinks.QueryInfo, id ident.BatchID, digest ident.Digest, now time.Time) marker {
	return marker{
		batch: id, digest: digest, epoch: q.Epoch, entry: q.Entry.String(), at: now, query: q.ID, pipeline: q.Name, shard: q.Shard.String(),
	}
}

// visible is the marker as the engine takes it.
func (m marker) visible() sinks.Visible {
	v := sinks.Visible{Keeps: true, Batch: m.batch, Epoch: m.epoch}
	if m.batch != ident.NoBatch {
		v.Digest, v.HasDigest = m.digest.Stored(m.batch), true
	}
	return v
}

package filestage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
)

// Sink makes each batch a folder of files. It is used by one goroutine.
type Sink struct {
	config Config
	disk   disk
	query  sinks.QueryInfo // since Recover
	at     layout          // of query
	last   ident.BatchID   // the newest visible batch
}

// New makes the sink. An error lists all that is wrong with the configuration.
func New(config Config) (*Sink, error) {
	err := config.validate()
	if err == nil && config.FS == nil {
		config.FS, err = localfs.OS(config.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("files sink: %w", err)
	}
	return &Sink{config: config, disk: disk{config.FS}}, nil
}

// Describe is the configuration for the fingerprint. The format may change between batches, the folder may not.
func (s *Sink) Describe() ident.Description {
	return ident.Description{
		Kind: "files", Name: "FileStageSink[" + s.disk.URL() + "]",
		Identity:  map[string]any{"path": s.disk.URL()},
		Evolution: map[string]any{"format": s.config.Format, "extension": s.config.Extension},
	}
}

// Check looks whether the format takes the schema, and whether the folder is one or can be made.
func (s *Sink) Check(_ context.Context, in *arrow.Schema) error {
	if err := s.checkFormat(in); err != nil {
		return err
	}
	info, err := s.disk.Stat(".")
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is made when the query has claimed its epoch
	}
	return s.disk.failed("look at", ".", err)
}

// checkFormat begins a file that is written nowhere.
func (s *Sink) checkFormat(in *arrow.Schema) error {
	f, err := s.config.NewFile(io.Discard, in)
	if err != nil {
		return err
	}
	return f.Close()
}

// Visible is the newest batch of the query that has its folder, or had it.
func (s *Sink) Visible(_ context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v := sinks.Visible{Keeps: true, Batch: ident.NoBatch}
	l := layoutOf(q.ID, q.Shard)
	newest, err := s.disk.newest(l)
	if err != nil {
		return v, err
	}
	if newest != nil {
		digest, err := newest.digest()
		if err != nil {
			return v, errcode.FileStageDamaged.Wrap(err, s.disk.URL(), "")
		}
		v.Batch, v.Digest, v.HasDigest, v.Epoch = newest.Batch, digest.Stored(newest.Batch), true, newest.Epoch
	}
	epochs, err := s.disk.epochs(l)
	if err != nil {
		return v, err
	}
	for _, e := range epochs {
		v.Epoch = max(v.Epoch, e)
	}
	v.Others, err = s.others(q)
	return v, err
}

// others are the queries that have committed under the pipeline's name and shard.
func (s *Sink) others(q sinks.QueryInfo) (out []ident.QueryID, err error) {
	homes, err := s.disk.names(private)
	if err != nil {
		return nil, err
	}
	for _, hash := range homes {
		l := layout{hash}
		var o owner
		if err := s.disk.read(l.owner(), &o); errors.Is(err, fs.ErrNotExist) {
			continue // it is just being made
		} else if err != nil {
			return nil, err
		}
		if o.Pipeline != q.Name || o.Shard != q.Shard.String() || o.Query == q.ID {
			continue
		}
		newest, err := s.disk.newest(l)
		if err != nil {
			return nil, err
		}
		if newest != nil {
			out = append(out, o.Query)
		}
	}
	return out, nil
}

// Recover makes the folder if it is missing, takes the ground from older epochs, and enters into the ledger what a crash has left out.
func (s *Sink) Recover(_ context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	return s.orFenced(q, s.recover(q))
}

// orFenced is the error of a driver, unless a newer one has taken its ground meanwhile: then that is what it hears, whatever it stumbled over.
func (s *Sink) orFenced(q sinks.QueryInfo, err error) error {
	if err == nil {
		return nil
	}
	if fenced := s.disk.fencedBy(layoutOf(q.ID, q.Shard), q.Epoch); errcode.Has(fenced, errcode.DriverFenced) {
		return fenced
	}
	return err
}

func (s *Sink) recover(q sinks.QueryInfo) error {
	if err := s.claim(q); err != nil {
		return err
	}
	s.query, s.at, s.last = q, layoutOf(q.ID, q.Shard), ident.NoBatch
	newest, err := s.disk.newest(s.at)
	if err != nil || newest == nil {
		return err
	}
	if err := s.disk.sync("."); err != nil { // it may be visible and not durable
		return err
	}
	s.last = newest.Batch
	if bugs.Is(bugs.LedgerForgets) {
		return nil
	}
	return s.disk.enter(s.at, s.at.ground(q.Epoch), newest)
}

// Fence claims the folder for an epoch without a batch. Where there is no folder there is nothing to fence.
func (s *Sink) Fence(_ context.Context, q sinks.QueryInfo) error { return s.orFenced(q, s.claim(q)) }

// Guarantee is exactly once.
func (s *Sink) Guarantee() guarantee.Link {
	return guarantee.Link{
		Name: "writing " + s.config.Format + " files below " + s.disk.URL(), Level: guarantee.ExactlyOnce,
		Reason:  "the files of a batch and its record (batch id, digest, epoch) appear by one rename of their folder, which a folder that is there refuses",
		Visible: "all files of a batch at once, as a folder",
		Readers: []string{"read batch-*/*." + s.config.Extension + ": what is below _microbatch is not part of the result"},
	}
}

// Close holds nothing.
func (s *Sink) Close() error { return nil }

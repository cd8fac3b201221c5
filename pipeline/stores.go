package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/probe"
	"microbatch/objstore/s3"
	"microbatch/pipeline/config"
)

// Stores opens folders and s3:// prefixes with the settings of a pipeline file.
type Stores struct {
	settings config.S3
	retryFor time.Duration // 0: as the adapter has it
}

// NewStores takes the settings of c; with nil, S3 is reached by the AWS environment alone.
func NewStores(c *Config) *Stores {
	if c == nil {
		return &Stores{}
	}
	return &Stores{settings: c.S3}
}

// At is the store whose root is a folder or s3:// prefix. Nothing is touched: it may be missing.
func (s *Stores) At(ctx context.Context, path string) (objstore.Store, error) {
	return s.open(ctx, path, localfs.Options{})
}

// Probe asks the stores of a pipeline's checkpoint and tables whether they create objects atomically, which all logs rest on. Local folders do; a store on S3 is
// tried: one small object is created and removed. It is called before the first run of a process, and not by validation: it writes.
func Probe(ctx context.Context, c *Config) error {
	stores := NewStores(c)
	places := []string{c.Checkpoint}
	if t := c.Sink.Table; t != nil {
		places = append(places, t.Path)
	}
	if c.Rejected != nil {
		places = append(places, c.Rejected.Table)
	}
	probed := map[string]bool{} // by bucket: they answer alike
	for _, p := range places {
		rest, remote := strings.CutPrefix(p, "s3://")
		bucket, _, _ := strings.Cut(rest, "/")
		if !remote || probed[bucket] {
			continue
		}
		probed[bucket] = true
		s, err := stores.At(ctx, p)
		if err != nil {
			return err
		}
		if err := probe.Check(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// Private is At for checkpoints: on disk, only the user may read what is made there.
func (s *Stores) Private(ctx context.Context, path string) (objstore.Store, error) {
	return s.open(ctx, path, localfs.Options{Private: true})
}

func (s *Stores) open(ctx context.Context, path string, local localfs.Options) (objstore.Store, error) {
	if rest, ok := strings.CutPrefix(path, "s3://"); ok {
		bucket, prefix, _ := strings.Cut(rest, "/")
		return s3.New(ctx, s.bucket(bucket, strings.Trim(prefix, "/")))
	}
	abs, err := filepath.Abs(strings.TrimPrefix(path, "file://"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return localfs.New(abs, local)
}

func (s *Stores) access(bucket string) config.S3Access {
	if own, ok := s.settings.Buckets[bucket]; ok {
		return own
	}
	return s.settings.S3Access
}

// bucket is how a bucket is reached.
func (s *Stores) bucket(bucket, prefix string) s3.Config {
	a := s.access(bucket)
	c := s3.Config{
		Bucket: bucket, Prefix: prefix, Endpoint: a.Endpoint, Region: a.Region, PathStyle: a.Endpoint != "",
		AccessKey: a.AccessKey.Value(), SecretKey: a.SecretKey.Value(), SessionToken: a.SessionToken.Value(), RetryFor: s.retryFor,
	}
	if a.PathStyle != nil {
		c.PathStyle = *a.PathStyle
	}
	return c
}

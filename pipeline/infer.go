package pipeline

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/objstore/mem"
)

// Infer opens the source of a pipeline file and gives the schema of its rows, inferred from a sample if the file declares none. Nothing is written.
func Infer(ctx context.Context, c *Config) (s *arrow.Schema, err error) {
	b := newBuilder(c, Options{RetryFor: 10 * time.Second}) // somebody waits
	source, err := b.source(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := source.Close(); err == nil {
			err = cerr
		}
	}()
	if err := source.Open(ctx, mem.New()); err != nil { // a checkpoint that holds nothing
		return nil, err
	}
	return source.Schema(), nil
}

package engine

import (
	"context"

	"golang.org/x/sync/errgroup"

	"microbatch/batch"
)

// gather is the exchange to one part: the streams are pulled at once, each by a goroutine of its own, and their chunks come out in the order in
// which they are ready. The goroutines end when the stream is left or its context ends; nothing waits for a stream that nobody pulls.
func gather(streams []stream) stream {
	if len(streams) == 1 {
		return streams[0]
	}
	return func(ctx context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			ctx, cancel := context.WithCancel(ctx)
			chunks := make(chan batch.Chunk)
			group, gctx := errgroup.WithContext(ctx)
			for _, s := range streams {
				group.Go(func() error { return pour(gctx, s, chunks) })
			}
			var err error
			go func() { err = group.Wait(); close(chunks) }()
			open := true
			for c := range chunks {
				if !open {
					c.Release()
				} else if open = yield(c, nil); !open {
					cancel()
				}
			}
			cancel()
			if open && err != nil {
				yield(batch.Chunk{}, err)
			}
		}
	}
}

// pour pulls one stream into the channel.
func pour(ctx context.Context, s stream, chunks chan<- batch.Chunk) error {
	for c, err := range recovered(s(ctx)) {
		if err != nil {
			return err
		}
		select {
		case chunks <- c:
		case <-ctx.Done():
			c.Release()
			return ctx.Err()
		}
	}
	return nil
}

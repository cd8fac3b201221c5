package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/codec/json"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/pipeline/config"
	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
)

// http is the sink that sends each row to a service.
func (b builder) http(ctx context.Context, h *config.HTTPSink) (sinks.Sink, error) {
	c := foreachbatch.HTTPConfig{
		URL: h.URL, Method: h.Method, Headers: map[string]secret.Secret{}, OperationID: h.OperationID, Encoder: json.NewEncoder, ContentType: "application/json",
		Parallel: h.Parallel, PerSecond: float64(h.PerSecond), Timeout: h.Timeout.D(), RetryFor: h.RetryFor.D(),
	}
	if len(c.OperationID) == 0 {
		c.OperationID = []string{"_topic", "_partition", "_offset"} // as the Kafka source's metadata names them
	}
	for name, value := range h.Headers {
		c.Headers[name] = secret.Of(value)
	}
	if !h.Authorization.Value().IsZero() {
		c.Headers["Authorization"] = h.Authorization.Value()
	}
	if h.Quarantine != "" {
		store, err := b.stores.At(ctx, h.Quarantine)
		if err != nil {
			return nil, err
		}
		c.Quarantine = func(ctx context.Context, batch foreachbatch.Batch, lines objstore.Content) error {
			key := fmt.Sprintf("%s-%012d.ndjson", batch.Query, batch.ID)
			if lines.Size() > 0 {
				return objstore.PutContent(ctx, store, key, lines)
			}
			if err := store.Delete(ctx, key); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier try
				return err
			}
			return nil
		}
	}
	apply, err := foreachbatch.HTTP(c)
	if err != nil {
		return nil, err
	}
	return foreachbatch.New(foreachbatch.Config{
		Func: apply, Check: c.Check, What: map[string]any{"url": h.URL, "method": h.Method, "operation_id": c.OperationID},
		Name: "sending requests to " + h.URL, Remedy: "a service that honours the Idempotency-Key, and does nothing twice, makes it exactly once", Resends: true,
	})
}

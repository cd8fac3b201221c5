package report

import (
	"log/slog"

	"microbatch/engine"
)

// Log writes one log line for each batch. Notices are not among them: the engine logs them itself.
func Log(log *slog.Logger) engine.Listener {
	return engine.Listener{
		Started: func(s engine.Started) {
			log.Info("started", "query", string(s.ID), "run", string(s.Run), "epoch", int64(s.Epoch), "plan", s.Plan, "guarantee", s.Guarantee)
		},
		Progress: func(p engine.Progress) {
			args := []any{"batch", int64(p.Batch), "rows", p.InputRows, "out", p.Sink.Rows, "ms", p.BatchDuration}
			if p.PerSecond != nil {
				args = append(args, "rows_per_s", int64(*p.PerSecond))
			}
			if p.Behind >= 0 {
				args = append(args, "behind", p.Behind)
			}
			if p.Rejected > 0 {
				args = append(args, "rejected", p.Rejected)
			}
			if c := p.Sink.Changes; c != nil {
				args = append(args, "inserted", c.Inserted, "updated", c.Updated, "deleted", c.Deleted, "unchanged", c.Unchanged)
			}
			if p.Sink.Version >= 0 {
				args = append(args, "version", p.Sink.Version)
			}
			if p.Sink.Files > 0 {
				args = append(args, "files", p.Sink.Files, "size", size(p.Sink.Bytes))
			}
			if p.Attempts > 1 {
				args = append(args, "attempts", p.Attempts)
			}
			if p.Replayed {
				args = append(args, "replayed", true)
			}
			if p.Delivery != "" {
				args = append(args, "delivery", p.Delivery)
			}
			log.Info("batch", args...)
		},
		Idle: func(engine.Idle) { log.Debug("waiting for data") },
		Terminated: func(err error) {
			if err == nil {
				log.Info("ended")
			}
		},
	}
}

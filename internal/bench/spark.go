package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"microbatch/internal/services"
)

//go:embed spark.py
var sparkScript string

// A sparkJob is what one Spark process does: the same query once for each run, into another folder each time.
type sparkJob struct {
	Broker string     `json:"broker"`
	Topic  string     `json:"topic"`  // "" for files
	Folder string     `json:"folder"` // of files
	Schema string     `json:"schema"`
	Format string     `json:"format"` // of the sink
	Runs   []sparkRun `json:"runs"`
}

type sparkRun struct {
	Out   string `json:"out"`
	Limit int    `json:"limit"` // maxOffsetsPerTrigger or maxFilesPerTrigger
}

// sparkTook is what a run took, without the start of the JVM.
type sparkTook struct {
	Seconds, CPU float64
	Peak         int64 // of the processes so far
	Batches      []struct {
		Rows int64
		Ms   float64
	}
}

func (t sparkTook) rows() (n int64) {
	for _, b := range t.Batches {
		n += b.Rows
	}
	return n
}

// spark runs a job in a Spark of its own. It is an error if a run did not take all rows.
func (b *bench) spark(ctx context.Context, job sparkJob, rows int) ([]sparkTook, error) {
	env, err := services.LaunchableSpark()
	if err != nil {
		return nil, err
	}
	dir, err := b.fresh("spark-work")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "run.py")
	if err := os.WriteFile(script, []byte(env.Session()+sparkScript), 0o644); err != nil {
		return nil, err
	}
	arg, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	u, err := b.child(ctx, dir, env.Python, script, string(arg))
	if err != nil {
		return nil, err
	}
	var took []sparkTook
	for line := range bytes.Lines(u.stdout) {
		var t sparkTook
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("spark said %q: %w", line, err)
		}
		if t.rows() != int64(rows) {
			return nil, fmt.Errorf("spark took %d rows, %d were expected", t.rows(), rows)
		}
		took = append(took, t)
	}
	if len(took) != len(job.Runs) {
		return nil, fmt.Errorf("spark made %d runs, %d were expected", len(took), len(job.Runs))
	}
	return took, nil
}

// tune finds the limit of a batch at which Spark needs the least processor time, in one warm process, and says what it tried.
func (b *bench) tune(ctx context.Context, job sparkJob, rows int, limits []int) (best int, note string, err error) {
	dir, err := b.fresh("spark-tune")
	if err != nil {
		return 0, "", err
	}
	for i, limit := range append(limits[:1:1], limits...) { // the first is run twice: it warms the JVM
		job.Runs = append(job.Runs, sparkRun{Out: fmt.Sprintf("%s/%d", dir, i), Limit: limit})
	}
	took, err := b.spark(ctx, job, rows)
	if err != nil {
		return 0, "", err
	}
	least := 0.0
	for i, limit := range limits {
		cpu := took[i+1].CPU
		note += fmt.Sprintf("%d: %.0f; ", limit, float64(rows)/cpu)
		if best == 0 || cpu < least {
			best, least = limit, cpu
		}
	}
	note = fmt.Sprintf("Spark's limits of a batch that were tried, with the rows per processor second of a warm run: %sbest: %d.", note, best)
	b.say("  %s", note)
	return best, note, b.removeAll("spark-tune")
}

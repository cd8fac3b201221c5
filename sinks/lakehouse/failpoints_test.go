//go:build failpoints

package lakehouse

import (
	"testing"
	"testing/synctest"
	"time"

	"microbatch/ident"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// TestEveryCrashPointOfTheTableIsPassed keeps the names true that crash tests are told.
func TestEveryCrashPointOfTheTableIsPassed(t *testing.T) {
	before := failpoint.Hits()
	synctest.Test(t, func(t *testing.T) { // the store's clock goes with the query's: what is old by one of them alone is kept
		p := newPlace("delta")
		d := p.start(t, sinktest.Query("q", 1), func(c *Config) {
			c.Maintenance = Maintenance{OptimizeEvery: time.Hour, VacuumRetain: 48 * time.Hour}
		})
		for id := range ident.BatchID(40) {
			d.Commit(sinks.Committed, id, "a", []int64{int64(id)})
			time.Sleep(30 * time.Hour)
			if err := d.Sink.(*Sink).Maintain(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	})
	after := failpoint.Hits()
	for _, name := range []string{
		"prepare.file.before", "prepare.file.after", "commit.put.before", "commit.put.after", "checkpoint.before", "checkpoint.after", "optimize.before", "optimize.after",
		"vacuum.delete", "cleanup.delete",
	} {
		if after[name] == before[name] {
			t.Errorf("%s was not passed", name)
		}
	}
}

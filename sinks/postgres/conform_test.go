//go:build services

package postgres

import (
	"testing"

	"microbatch/sinks/sinktest"
)

// TestPostgresConforms runs the suite in each mode: its rows have a key of their own, so that each mode has to come to the same.
func TestPostgresConforms(t *testing.T) {
	for _, c := range []Config{{Mode: Append}, {Mode: Upsert, Keys: []string{"id"}}, {Mode: Ledger, Keys: []string{"id"}}} {
		t.Run(c.Mode, func(t *testing.T) {
			sinktest.Run(t, func(t *testing.T) sinktest.Harness { return newPlace(t, c).harness() })
		})
	}
}

//go:build services

package e2e

import (
	"testing"

	"microbatch/internal/services"
)

// TestTakeoversOnS3: an S3 store knows no locks, so a second driver simply begins, wherever the first one has fallen asleep.
func TestTakeoversOnS3(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			onS3(t, format, services.MinIO(t), "").chain(takeovers(t, 12), nil)
		})
	}
}

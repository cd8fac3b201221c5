//go:build services

package e2e

import (
	"strings"
	"testing"
)

// TestKilledAtEachPointOnS3 is TestKilledAtEachPoint with checkpoint and tables on S3, in both formats by turns.
func TestKilledAtEachPointOnS3(t *testing.T) {
	formats := []string{"s3, delta", "s3, parquet"}
	n := 0
	killAtEachPoint(t, false, func(point string) map[string]scenario {
		if everywhere := scenarios(point, true); everywhere[formats[0]].make != nil && !strings.HasPrefix(point, "s3.") {
			n++
			return map[string]scenario{formats[n%2]: everywhere[formats[n%2]]}
		}
		return nil
	})
}

package console

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func TestConsoleConforms(t *testing.T) {
	sinktest.Run(t, func(*testing.T) sinktest.Harness {
		var out bytes.Buffer
		return sinktest.Harness{
			Open: func(t *testing.T) sinks.Sink {
				s, err := New(Config{Writer: &out})
				if err != nil {
					t.Fatal(err)
				}
				return s
			},
			Rows: func(*testing.T) (ids []int64) {
				for line := range strings.Lines(out.String()) {
					if id, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64); err == nil {
						ids = append(ids, id)
					}
				}
				return ids
			},
			State: func(*testing.T) string { return out.String() },
		}
	})
}

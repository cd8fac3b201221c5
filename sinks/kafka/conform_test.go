package kafka

import (
	"testing"

	"microbatch/sinks/sinktest"
)

func TestTheSinkConformsOnAFakeCluster(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Harness { return fake(t).harness(t) })
}

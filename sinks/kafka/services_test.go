//go:build services

package kafka

import (
	"testing"

	"microbatch/internal/services"
	"microbatch/sinks/sinktest"
)

func TestOnARealBroker(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{Secure: true})
	for name, test := range map[string]func(*kit){
		"the sink conforms": conforms,
	} {
		t.Run(name, func(t *testing.T) { test(newKit(t, broker.Addr)) })
	}
}

func conforms(k *kit) {
	sinktest.Run(k.T, func(t *testing.T) sinktest.Harness { return k.harness(t) })
}

package kafkamodel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/sim/kafkamodel"
)

func TestASourceReadsTheModelInABubble(t *testing.T) {
	for _, gzip := range []bool{false, true} {
		bubble(t, kafkamodel.Config{Brokers: 3, Gzip: gzip}, func(k *kit) {
			k.Create("orders", 4)
			for p := range int32(4) {
				k.produce(p, int(p)*1000, int(p)*1000+500)
			}
			want := append(append(append(numbers(0, 500), numbers(1000, 1500)...), numbers(2000, 2500)...), numbers(3000, 3500)...)
			s := k.open(k.config())
			if d := cmp.Diff(want, k.read(s, "", k.plan(s, "", 0))); d != "" {
				k.Error(d)
			}
		})
	}
}

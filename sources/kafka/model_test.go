package kafka_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/kafkamodel"
)

func contains(err error, words ...string) bool {
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			return false
		}
	}
	return true
}

// onFetch is a hook that does something before the nth request for records is served.
func onFetch(n int, do func()) kafkamodel.Intercept {
	return func(_ context.Context, _ int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
		if req.Key() == int16(kmsg.Fetch) {
			if n--; n == 0 {
				do()
			}
		}
		return serve()
	}
}

func TestALogThatIsCutWhileItIsReadStopsTheBatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		cut    int64
		err    bool
	}{
		{name: "before what was read", cut: 0, err: true},
		{name: "in what was read", cut: 100, err: true},
		{name: "in what was planned", cut: 900, err: true},
		{name: "at the end", cut: 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 1)
				k.produce(0, 0, 1000)
				k.hook = onFetch(3, func() {
					k.Truncate("orders", 0, c.cut)
					k.produce(0, 5000, 7000)
				})
				config := k.config()
				config.FetchBytes = 4000
				s := k.open(config)
				p := k.plan(s, "", 0)
				ids, err := k.tryRead(s, "", p)
				if c.err && !errcode.Has(err, errcode.KafkaTruncated) {
					k.Errorf("%s: %d rows, %v", c.name, len(ids), err)
				}
				if !c.err && !cmp.Equal(numbers(0, 1000), ids) {
					k.Errorf("%s: %d rows, %v", c.name, len(ids), err)
				}
			})
		})
	}
}


package kafka

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"microbatch/codec/avro"
	"microbatch/codec/registry"
	"microbatch/internal/errcode"
	"microbatch/sinks/sinktest"
)

// TestValuesWithARegistry: the schema is registered by the driver that has taken over, and not by a check; each value begins with its id; a registry that refuses the
// schema, or does not answer, stops the driver before anything is written.
func TestValuesWithARegistry(t *testing.T) {
	k := fake(t)
	r := srfake.New()
	t.Cleanup(r.Close)
	topic := k.topic(1)
	c := k.config(topic)
	client, err := registry.New(registry.Config{URL: r.URL(), RetryFor: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	values := avro.NewValues(avro.ValuesOptions{Name: "out", Registry: client, Subject: topic + "-value"})
	c.Format, c.Encoder, c.Schemas = "avro", values.Encoder, values
	in, _ := rows(t, memory.DefaultAllocator, "id BIGINT, name STRING")
	s := k.sink(c)
	if err := s.Check(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || r.SubjectExists(topic+"-value") {
		t.Errorf("a check has registered a schema; %v", err)
	}
	if g := s.Guarantee(); !strings.HasSuffix(g.Name, " as avro") || len(g.Readers) != 2 {
		t.Errorf("the guarantee is %+v", g)
	}
	for name, answer := range map[string]struct {
		status int
		code   errcode.Code
	}{"a schema that is refused": {http.StatusConflict, errcode.RegistryIncompatible}, "an outage": {http.StatusServiceUnavailable, errcode.RegistryUnreachable}} {
		r.Intercept(func(w http.ResponseWriter, q *http.Request) bool {
			if strings.HasSuffix(q.URL.Path, "/versions") {
				w.WriteHeader(answer.status)
				return true
			}
			return false
		})
		if err := k.write(c, sinktest.Query("q", 1), "id BIGINT, name STRING", []any{1, "a"}); !errcode.Has(err, answer.code) {
			t.Errorf("%s: %v", name, err)
		}
		r.ClearInterceptors()
	}
	if err := k.write(c, sinktest.Query("q", 2), "id BIGINT, name STRING", []any{1, "a"}, []any{2, nil}); err != nil {
		t.Fatal(err)
	}
	registered, ok := r.GetSchema(topic+"-value", 1)
	if !ok {
		t.Fatal("the schema is not registered")
	}
	want := [][]byte{{0, 0, 0, 0, byte(registered.ID), 2, 2, 2, 2, 'a'}, {0, 0, 0, 0, byte(registered.ID), 2, 4, 0}}
	records := k.records(topic, kgo.ReadCommitted())
	if len(records) != len(want) {
		t.Fatalf("%d records", len(records))
	}
	for i, rec := range records {
		if !bytes.Equal(rec.Value, want[i]) {
			t.Errorf("record %d is %x, not %x", i, rec.Value, want[i])
		}
	}
	if err := k.write(c, sinktest.Query("q", 3), "id BIGINT, `a name` STRING", []any{3, "c"}); !errcode.Has(err, errcode.KafkaSinkColumns) || !strings.Contains(err.Error(), "a name") {
		t.Errorf("a column that no field can be: %v", err)
	}
}

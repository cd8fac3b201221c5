package kafkamodel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/sinks"
	"microbatch/sinks/kafka"
	"microbatch/sinks/sinktest"
)

// driver is a sink that has taken over.
func driver(t *testing.T, c *kafkamodel.Cluster, epoch ident.Epoch) sinks.Sink {
	t.Helper()
	s := sinkOn(t, c, kafkamodel.WriterConfig{})
	if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), sinktest.Query("q", epoch), nil)); err != nil {
		t.Fatal(err)
	}
	return s
}

func prepared(t *testing.T, s sinks.Sink, id ident.BatchID, ids ...int64) sinks.Pending {
	t.Helper()
	p, err := s.Prepare(t.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, ids))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func committed(t *testing.T, s sinks.Sink, p sinks.Pending, want sinks.Outcome) sinks.Result {
	t.Helper()
	r, err := s.Commit(t.Context(), p)
	if err != nil || r.Outcome != want {
		t.Fatalf("%s, %v, %v; want %s", r.Outcome, r.Why, err, want)
	}
	return r
}

func TestATransactionThatTakesTooLongIsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTopic()
		s := driver(t, c, 1)
		p := prepared(t, s, 0, 1)
		time.Sleep(5*time.Minute + time.Second)
		if r := committed(t, s, p, sinks.Uncertain); !errcode.Has(r.Why, errcode.KafkaSinkLost) {
			t.Error(r.Why)
		}
		committed(t, s, prepared(t, s, 0, 1), sinks.Committed)
		if got := idsIn(t, c); !slices.Equal(got, []int64{1}) {
			t.Error(got)
		}
		c.Settle()
		if _, stable, end := c.Offsets("out", 0); stable != end {
			t.Errorf("a transaction is open: %d of %d are stable", stable, end)
		}
	})
}

func TestPositionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := kafkamodel.New(kafkamodel.Config{Retention: 7 * 24 * time.Hour})
		c.Create("out", 2)
		c.Create("in", 1)
		s := driver(t, c, 1)
		committed(t, s, prepared(t, s, 0, 1), sinks.Committed)
		for range 20 { // an idle query writes its marker again
			time.Sleep(12 * time.Hour)
			if err := s.(sinks.Maintainer).Maintain(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		v, err := s.Visible(t.Context(), sinktest.Query("q", 1))
		if err != nil || v.Batch != 0 {
			t.Fatal(v, err)
		}
		time.Sleep(7 * 24 * time.Hour)
		v, err = s.Visible(t.Context(), sinktest.Query("q", 1))
		if err != nil || v.Batch != ident.NoBatch || !strings.Contains(v.Behind, "offsets.retention.minutes") {
			t.Fatal(v, err)
		}
	})
}

// TestACloneGoesOnByItself: a copy that was made in the middle of a transaction, and the original, each end it in their way.
func TestACloneGoesOnByItself(t *testing.T) {
	c := newTopic()
	s := driver(t, c, 1)
	committed(t, s, prepared(t, s, 0, 1), sinks.Committed)
	p := prepared(t, s, 1, 2)
	twin := c.Clone()
	next := driver(t, twin, 2) // aborts what is open in the copy
	committed(t, next, prepared(t, next, 1, 3), sinks.Committed)
	committed(t, s, p, sinks.Committed)
	if a, b := idsIn(t, c), idsIn(t, twin); !slices.Equal(a, []int64{1, 2}) || !slices.Equal(b, []int64{1, 3}) {
		t.Errorf("the original holds %d, the copy %d", a, b)
	}
}

func TestWithoutTransactionsABatchThatRunsAgainIsThereAgain(t *testing.T) {
	c := newTopic()
	s, err := kafka.New(kafka.Config{Cluster: c.Writer(kafkamodel.WriterConfig{}), Topic: "out", Value: "name", Mode: kafka.Idempotent})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), sinktest.Query("q", 1), nil)); err != nil {
		t.Fatal(err)
	}
	committed(t, s, prepared(t, s, 0, 1), sinks.Committed)
	committed(t, s, prepared(t, s, 0, 1), sinks.Committed)
	if n := len(c.Records("out", 0)) + len(c.Records("out", 1)); n != 2 {
		t.Errorf("%d records", n)
	}
}

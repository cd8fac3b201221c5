//go:build services

package services

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestKafkaBrokerStartsTakesARecordAndEnds(t *testing.T) {
	k := Kafka(t, KafkaOptions{Secure: true})
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 2, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("{}")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestPythonHasTheReadersOfDeltaTables(t *testing.T) {
	out := RunPython(t, Python(t), "import deltalake, duckdb, pyarrow, pytz; print(duckdb.__version__)", time.Minute)
	if strings.TrimSpace(out) != "1.5.5" {
		t.Fatalf("duckdb %s", out)
	}
}

func TestPySparkWritesAndReadsADeltaTable(t *testing.T) {
	env := PySpark(t)
	script := env.Session() + `
import sys
spark.range(3).write.format("delta").save(sys.argv[1])
print("rows", spark.read.format("delta").load(sys.argv[1]).count())
`
	out := RunPython(t, env.Python, script, 5*time.Minute, t.TempDir()+"/table")
	if !strings.Contains(out, "rows 3") {
		t.Fatalf("printed %q", out)
	}
}

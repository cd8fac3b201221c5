package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"microbatch/internal/errcode"
)

const orderSchema = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`

// avroPipeline is a pipeline of a source and a sink, with order.avsc beside it.
func avroPipeline(t *testing.T, source, sink string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "order.avsc"), []byte(orderSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "p.yaml")
	text := "name: p\nsource: {" + source + "}\nsink: {kafka: {brokers: [\"h:1\"], topic: out, " + sink + "}}\non_error: fail\ncheckpoint: c\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

// TestAvroIsBuilt: each way to name a schema builds, and what changes the bytes, or the rows that are made of them, changes the description.
func TestAvroIsBuilt(t *testing.T) {
	t.Setenv("SECRET", "canary-5")
	described := map[string]string{}
	for name, c := range map[string][2]string{
		"registry":           {`kafka: {brokers: ["h:1"], topics: [in], schema_registry: {url: "https://r", user: u, password: "env:SECRET", tls: {}}}, format: avro`, `format: avro, schema_registry: {url: "http://r:8081/apis/ccompat/v7"}`},
		"a file":             {`kafka: {brokers: ["h:1"], topics: [in]}, format: avro, avro: {schema: order.avsc}`, `format: avro, avro: {schema: order.avsc}`},
		"text":               {`kafka: {brokers: ["h:1"], topics: [in]}, format: avro, avro: {schema: '{"type":"record","name":"Order","fields":[]}'}, schema: a INT`, `format: avro, avro: {schema: '` + orderSchema + ` '}`},
		"no schema":          {`rate: {}`, `format: avro`},
		"a name":             {`rate: {}`, `format: avro, avro: {record: com.shop.Order}`},
		"a name, registered": {`rate: {}`, `format: avro, avro: {record: com.shop.Order}, schema_registry: {url: "http://r"}`},
	} {
		loaded, err := avroPipeline(t, c[0], c[1])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q, err := Build(t.Context(), loaded, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := fmt.Sprintf("%v %v", q.Sources[0].Describe().Evolution, q.Sink.Describe().Evolution)
		if strings.Contains(text, "canary") || !strings.Contains(text, "avro") {
			t.Errorf("%s: %s", name, text)
		}
		for other, same := range described {
			if same == text {
				t.Errorf("%s and %s have the same description: %s", name, other, text)
			}
		}
		described[name] = text
	}
}

// TestASchemaThatIsNotThere is told with its place in the pipeline file.
func TestASchemaThatIsNotThere(t *testing.T) {
	for _, schema := range []string{"nowhere.avsc", `'{"type":"long"}'`, "p.yaml"} {
		loaded, err := avroPipeline(t, `rate: {}`, `format: avro, avro: {schema: `+schema+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), loaded, Options{}); !errcode.Has(err, errcode.AvroSchema) || !strings.Contains(err.Error(), "p.yaml:3:") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

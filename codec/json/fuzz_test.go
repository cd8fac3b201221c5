package json

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
)

// FuzzDecode compares the parser with the reference on any bytes, twice in one decoder so that the second row meets the predictions of the first.
func FuzzDecode(f *testing.F) {
	for _, row := range corpus(f) {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row []byte) { compare(t, row) })
}

// corpus is all rows of the decision tables, and a row with every type.
func corpus(t testing.TB) [][]byte {
	rows := [][]byte{[]byte(everyType)}
	paths, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // a directory
		}
		for line := range bytes.Lines(text) {
			if line[0] == '{' {
				rows = append(rows, bytes.TrimSuffix(line, []byte("\n")))
			}
		}
	}
	return rows
}

const everyType = `{"b":true,"i8":-1,"i16":300,"i":1234567890123,"n":7,"f":0.5,"d":1e-3,"x":12.345,"y":"1e3","s":"q\u00e9","bin":"AQI=","dt":"2024-05-01",` +
	`"ts":"2024-05-01T12:34:56.789Z","tn":"2024-05-01 12:34","l":[1,null],"m":{"a":1,"a":2},"k":{"1":"x"},"st":{"a":1,"b":{"c":"x","s":["y"]}},"ls":[{"a":"z"},{"b":"2024-01-01"}]}`

// compare decodes a row by the parser and by the reference.
func compare(t *testing.T, row []byte) {
	t.Helper()
	for _, name := range []string{"NaN", "INF", "Infinity"} { // bare names are no JSON to the reference
		if bytes.Contains(row, []byte(name)) {
			return
		}
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	d, err := New(Options{}).NewDecoder(fuzzSchema(), alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	want, wantErr := referenceRow(fuzzSchema(), row)
	if row == nil {
		return
	}
	for range 2 {
		rows := d.Rows()
		err := d.Decode(row)
		if reject := (*codec.Reject)(nil); err != nil && !errors.As(err, &reject) {
			t.Fatal(err)
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: got %v, the reference says %v (%s)", row, err, wantErr, want)
		}
		if err == nil && d.Rows() != rows+1 || err != nil && d.Rows() != rows {
			t.Fatalf("%q: %d rows after %d", row, d.Rows(), rows)
		}
	}
	record := d.Flush()
	defer record.Release()
	for i := range int(record.NumRows()) {
		if got := rowText(record, i); got != want {
			t.Fatalf("%q: row %d\n got %s\nwant %s", row, i, got, want)
		}
	}
}

// TestDecodesLikeReference compares on the corpus, and on rows made of its parts: reordered, repeated, cut, with bytes changed.
func TestDecodesLikeReference(t *testing.T) {
	rows := corpus(t)
	for _, row := range rows {
		compare(t, row)
	}
	values := valuesByField(rows)
	rng := rand.New(rand.NewSource(1))
	accepted := 0
	for range 6000 {
		row := mutate(rng, values)
		compare(t, row)
		if _, err := referenceRow(fuzzSchema(), row); err == nil {
			accepted++
		}
	}
	if accepted < 2000 {
		t.Errorf("only %d rows were good ones", accepted)
	}
}

// valuesByField are the values of the corpus, by the name of a field that takes them; under "" all.
func valuesByField(rows [][]byte) map[string][]string {
	values := map[string][]string{"": {"1"}}
	for _, row := range rows {
		i := bytes.IndexByte(row, ':')
		if i < 0 || len(row) < i+2 {
			continue
		}
		value := strings.TrimSuffix(string(row[i+1:]), "}")
		values[""] = append(values[""], value)
		for _, f := range fuzzSchema().Fields() {
			if _, err := referenceRow(fuzzSchema(), []byte(`{"n":1,"`+f.Name+`":`+value+`}`)); err == nil {
				values[f.Name] = append(values[f.Name], value)
			}
		}
	}
	return values
}

// mutate makes a row of values under the names of the schema, and spoils it sometimes.
func mutate(rng *rand.Rand, values map[string][]string) []byte {
	fields := fuzzSchema().Fields()
	var members []string
	for range 1 + rng.Intn(6) {
		name := fields[rng.Intn(len(fields))].Name
		pool := values[name]
		if rng.Intn(20) == 0 {
			pool = values[""]
		}
		value := pool[rng.Intn(len(pool))]
		if rng.Intn(10) == 0 {
			name = "other"
		}
		blank := [...]string{"", "", "", " ", "\t", " \r"}[rng.Intn(6)]
		members = append(members, fmt.Sprintf("%s%q:%s%s%s", blank, name, blank, value, blank))
	}
	members = append(members, `"n":1`)
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	row := []byte("{" + strings.Join(members, ",") + "}")
	if rng.Intn(3) == 0 {
		switch i := rng.Intn(len(row)); rng.Intn(3) {
		case 0:
			row = row[:i]
		case 1:
			row[i] = byte(rng.Intn(256))
		default:
			row = append(row[:i:i], row[min(len(row), i+1+rng.Intn(4)):]...)
		}
	}
	return row
}

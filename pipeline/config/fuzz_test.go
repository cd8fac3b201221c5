package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"microbatch/internal/corpus"
	"microbatch/internal/errcode"
)

// FuzzParse: no text and no override makes the loader panic or take long, and every fault has a code and a place.
func FuzzParse(f *testing.F) {
	f.Add(full, "trigger.max_rows=1")
	f.Add("a: [", "x")
	f.Add("? [a]\n: b", "a[0]=1")
	f.Add("a: &x {b: *x}", "a.b=[")
	f.Add("? a", "a=\n-")
	for _, text := range corpus.Files(f, "testdata/faults/*") {
		f.Add(string(text), "sink.table.path=/x")
	}
	f.Fuzz(func(t *testing.T, text, set string) {
		_, err := Parse("p.yaml", []byte(text), []string{set})
		if err == nil {
			return
		}
		faults, ok := errors.AsType[*Faults](err)
		if !ok {
			t.Fatalf("not a list of faults: %v", err)
		}
		for _, fault := range faults.list {
			if fault.Code.ID == "" || fault.Place == "" {
				t.Errorf("no code or no place: %v", fault)
			}
		}
	})
}

// FuzzSecretsAreNeverPrinted: whatever is written where a secret belongs, in whatever form of YAML, no message and no dump of the configuration shows it.
func FuzzSecretsAreNeverPrinted(f *testing.F) {
	for _, written := range []string{"%s", "%q", "'%s'", "|\n        %s", "[%s]", "{%s}", "{%s: x}", "&a %s", "!!str %s", "%s # comment", "env:%s", "file:%s", "\"%s", "[%s", "- %s", "? %s", "%s: x", "*%s", "123456%s"} {
		f.Add(written, "env:X")
	}
	f.Fuzz(func(t *testing.T, form, set string) {
		if strings.Count(form, "%s")+strings.Count(form, "%q") != 1 || strings.Count(form, "%") != 1 {
			return
		}
		const canary = "canary7f3a"
		if strings.HasPrefix(strings.Trim(form, "\"' |\n"), "env:") || strings.Contains(form, "file:") || strings.Contains(form, "env:") {
			return // the name of a variable or file is no secret
		}
		value := fmt.Sprintf(form, canary)
		if strings.ContainsAny(strings.TrimPrefix(value, "|\n        "), "\n\r") {
			return // what begins a line is a key, and unknown keys are named
		}
		for _, text := range []string{
			"name: t\nsource:\n  kafka:\n    brokers: [a:9092]\n    topics: [t]\n    sasl:\n      mechanism: PLAIN\n      user: u\n      password: " + value + "\n  format: json\nsink: {console: {}}\n",
			"name: t\ns3:\n  buckets:\n    lake:\n      access_key: env:HOME\n      secret_key: " + value + "\nsource:\n  rate: {rows_per_second: 1}\nsink: {console: {}}\n",
		} {
			c, err := Parse("p.yaml", []byte(text), []string{"s3.buckets.lake.session_token=" + value, set})
			outputs := []string{fmt.Sprintf("%v %+v %#v", err, c, c)}
			if err != nil {
				outputs = append(outputs, errcode.Detail(err))
			} else if dump, err := json.Marshal(c); err == nil {
				outputs = append(outputs, string(dump))
			}
			for _, out := range outputs {
				if strings.Contains(out, canary) {
					t.Fatalf("the secret written as %q shows in %s", value, out)
				}
			}
		}
	})
}

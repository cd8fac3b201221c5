package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"microbatch/pipeline/config"
)

var update = flag.Bool("update", false, "write the golden files")

// examples are the smallest settings of each kind, by section of the pipeline file and kind. A setting that cannot be given to the first one of its kind alone (because it
// needs another beside it) has an example of its own.
var examples = map[string]map[string][]string{
	"source": {
		"kafka":  {"{brokers: [localhost:9092], topics: [orders]}"},
		"files":  {"{path: /in}"},
		"rate":   {"{}"},
		"orders": {"{}"},
	},
	"transform": {
		"select": {"[id]"},
		"filter": {"id > 1"},
		"sql":    {"SELECT * FROM batch"},
	},
	"sink": {
		"table": {
			"{path: /lake/orders}",
			"{path: /lake/orders, format: delta, mode: upsert, keys: [id]}",
			"{path: /lake/orders, format: delta, mode: overwrite}",
			"{path: /lake/orders, format: delta, mode: overwrite_partitions, partition_by: [day]}",
			"{path: /lake/orders, format: delta, deduplicate_by: [id]}",
			"{path: /lake/orders, mode: upsert, keys: [id], allow_replaced_files: true}",
		},
		"files":        {"{path: /out}", "{path: /out, format: parquet}"},
		"postgres":     {"{url: postgres://localhost/shop, table: orders}", "{url: postgres://localhost/shop, table: orders, mode: upsert, keys: [id]}", "{url: postgres://localhost/shop, table: orders, mode: ledger, keys: [id]}"},
		"kafka":        {"{brokers: [localhost:9092], topic: out}", "{brokers: [localhost:9092], topic: out, format: raw, value: v}"},
		"foreachbatch": {"{command: [./apply]}", "{sql: [SELECT 1], duckdb: /shop.duckdb}", "{sql: [SELECT 1], postgres: {url: \"postgres://shop@db/shop\"}}"},
		"http":         {"{url: https://localhost/orders, operation_id: [id]}"},
		"console":      {"{}"},
	},
}

// wordsOnly are settings that change what is said and nothing that is promised: how files and topics are named.
var wordsOnly = map[string]bool{"compression": true, "pattern": true}

// variant is a kind with its settings, as far as they change what explain says of it.
type variant struct {
	name  string // "kafka", "kafka isolation=read_uncommitted"
	kind  string
	value string // YAML in one line
	set   string // an override, "" for none
	keeps bool   // no rejected rows: the pipeline says what else becomes of them
}

// TestExplainOfEachCombination: what explain says of each combination of source, transform and sink that the pipeline file can name, held against golden files. The kinds
// are those of package config, so that a new one, or a new setting that weakens a promise, is missing here until somebody has read what is promised for it.
func TestExplainOfEachCombination(t *testing.T) {
	sources, steps, sinks := variants(t, "source"), variants(t, "transform"), variants(t, "sink")
	if t.Failed() {
		return
	}
	steps = append([]variant{{name: "no transform"}}, steps...)
	dir := filepath.Join("testdata", "explain")
	var files []string
	for _, sink := range sinks {
		var all []section
		add := func(title string, source, step variant, more ...string) {
			all = append(all, section{title, explained(t, source, step, sink, more...)})
		}
		for _, source := range sources {
			for _, step := range steps {
				add(fmt.Sprintf("%s, %s", source.name, step.name), source, step)
			}
			add(source.name+", delivery=at_most_once", source, steps[0], "delivery=at_most_once")
		}
		add(sources[0].name+", trigger.every=30s", sources[0], steps[0], "trigger.every=30s")
		add(sources[0].name+", batch_timeout=1m", sources[0], steps[0], "batch_timeout=1m")
		add(sources[0].name+", on_error=drop", variant{name: sources[0].name, kind: sources[0].kind, value: sources[0].value, keeps: true}, steps[0], "on_error=drop")
		file := strings.NewReplacer(" ", "_", "=", "-", ".", "_", "/", "", `"`, "", "{", "", "}", "", ":", "", "@", "_").Replace(sink.name) + ".txt"
		files = append(files, file)
		golden(t, filepath.Join(dir, file), arrange(sink.name, all))
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if !slices.Contains(files, f.Name()) {
			t.Errorf("%s is of no kind of sink any more", filepath.Join(dir, f.Name()))
		}
	}
}

// section is what explain says of one pipeline.
type section struct{ title, text string }

// arrange is the sections for people: first what is said in any of them, each piece once and with a number, then of each section which pieces it is made of.
func arrange(sink string, all []section) string {
	var said []string
	var made strings.Builder
	for _, s := range all {
		fmt.Fprintf(&made, "%s:", s.title)
		for _, piece := range pieces(s.text) {
			n := slices.Index(said, piece)
			if n < 0 {
				n, said = len(said), append(said, piece)
			}
			fmt.Fprintf(&made, " %d", n+1)
		}
		made.WriteString("\n")
	}
	var out strings.Builder
	fmt.Fprintf(&out, "What explain --offline says of pipelines into %s. The numbers below are of these pieces, in their order.\n\n", sink)
	for n, piece := range said {
		fmt.Fprintf(&out, "%2d %s\n", n+1, strings.ReplaceAll(piece, "\n", "\n   "))
	}
	return out.String() + "\n" + made.String()
}

// pieces are the lines of a text, each with the indented ones below it.
func pieces(text string) (out []string) {
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "  "):
			out[len(out)-1] += "\n" + line
		default:
			out = append(out, line)
		}
	}
	return out
}

func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v: run the test with -update and read the file that it writes: is that what is promised?", err)
		return
	}
	if text == string(want) {
		return
	}
	have, old := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(have), len(old)) {
		if i >= len(have) || i >= len(old) || have[i] != old[i] {
			t.Errorf("%s:%d: not what explain says now (-update writes it)\nhave %s\nwant %s", file, i+1, lineAt(have, i), lineAt(old, i))
			return
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

// variants are the kinds of a section, with each word of a setting that changes what is said of the kind.
func variants(t *testing.T, section string) (out []variant) {
	t.Helper()
	for _, kind := range kindsOf(t, section) {
		values := examples[section][kind.Name]
		if len(values) == 0 {
			t.Errorf("a new %s: %s: give an example of it in examples", section, kind.Name)
			continue
		}
		for _, way := range kind.Keys {
			if way.Group != "" && !slices.ContainsFunc(values, func(value string) bool { return strings.Contains(value, way.Name+":") }) && !wordsOnly[way.Name] {
				t.Errorf("%s.%s.%s is a %s of which there is no example", section, kind.Name, way.Name, way.Group)
			}
		}
		seen := map[string]bool{}
		add := func(v variant) {
			if said, err := saidOf(t, section, v); err != nil {
				t.Errorf("%s %s: %v", section, v.name, err)
			} else if !seen[said] {
				seen[said] = true
				out = append(out, v)
			}
		}
		for n, value := range values {
			name := kind.Name
			if n > 0 {
				name += difference(values[0], value)
			}
			add(variant{name: name, kind: kind.Name, value: value})
		}
		for _, setting := range kind.Keys {
			for _, word := range wordsOf(setting) {
				tried := false
				for _, value := range values {
					v := variant{name: fmt.Sprintf("%s%s %s=%s", kind.Name, difference(values[0], value), setting.Name, word), kind: kind.Name, value: value, set: fmt.Sprintf("%s.%s.%s=%s", section, kind.Name, setting.Name, word)}
					if said, err := saidOf(t, section, v); err == nil {
						tried = true
						if !seen[said] && !wordsOnly[setting.Name] {
							seen[said] = true
							out = append(out, v)
						}
					}
				}
				if !tried {
					t.Errorf("%s.%s.%s=%s fits none of the examples: give one that it fits", section, kind.Name, setting.Name, word)
				}
			}
		}
	}
	return out
}

// difference is what one example has and the first has not, " mode=upsert keys=id".
func difference(first, other string) string {
	text := ""
	for _, setting := range strings.Split(strings.Trim(other, "{}"), ", ") {
		if !strings.Contains(first, setting) {
			text += " " + strings.NewReplacer(": ", "=", "[", "", "]", "").Replace(setting)
		}
	}
	return text
}

// kindsOf are the alternatives of a section, as the pipeline file's definition lists them.
func kindsOf(t *testing.T, section string) (out []config.Key) {
	t.Helper()
	for _, k := range config.Keys() {
		if k.Name != section {
			continue
		}
		inner := k.Keys
		if k.Element != nil {
			inner = k.Element.Keys
		}
		for _, kind := range inner {
			if kind.Group != "" {
				out = append(out, kind)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("the pipeline file has no %s", section)
	}
	return out
}

// wordsOf are the words of a setting that takes one of a few; none for others.
func wordsOf(k config.Key) []string {
	switch {
	case k.Form == config.Boolean:
		return []string{"true", "false"}
	case k.Form == config.Text:
		return k.Enum
	}
	return nil
}

// saidOf is what explain says of one part, as text to compare.
func saidOf(t *testing.T, section string, v variant) (string, error) {
	t.Helper()
	parts := map[string]variant{"source": {kind: "rate", value: "{}"}, "transform": {}, "sink": {kind: "console", value: "{}"}}
	parts[section] = v
	e, err := explainFile(t, parts["source"], parts["transform"], parts["sink"])
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(e.Links)
	return string(text), err
}

func explained(t *testing.T, source, step, sink variant, more ...string) string {
	t.Helper()
	e, err := explainFile(t, source, step, sink, more...)
	if err != nil {
		if len(more) == 0 {
			t.Fatalf("%s, %s, %s: %v", source.name, step.name, sink.name, err)
		}
		_, what, _ := strings.Cut(err.Error(), "MB")
		return "refused: MB" + what + "\n"
	}
	var out bytes.Buffer
	e.text(&out)
	return out.String()
}

// explainFile explains a pipeline of three parts, from the file alone.
func explainFile(t *testing.T, source, step, sink variant, more ...string) (explanation, error) {
	t.Helper()
	lines := []string{"name: orders", "checkpoint: /checkpoint"}
	lines = append(lines, "source: {"+source.kind+": "+source.value+"}", "sink: {"+sink.kind+": "+sink.value+"}")
	if step.kind != "" {
		lines = append(lines, "transform: [{"+step.kind+": "+step.value+"}]")
	}
	if (source.kind == "kafka" || source.kind == "files") && !source.keeps {
		lines = append(lines, "rejected: {table: /rejected}")
	}
	file := filepath.Join(t.TempDir(), "orders.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := pipelineFlags{set: more}
	for _, v := range []variant{source, step, sink} {
		if v.set != "" {
			f.set = append(f.set, v.set)
		}
	}
	return explain(t.Context(), &f, []string{file}, true)
}

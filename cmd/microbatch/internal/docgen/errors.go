package main

import (
	"fmt"
	"strings"

	"microbatch/internal/errcode"
)

// families are the headings of the error list, by the first four characters of the codes.
var families = [][2]string{
	{"MB10", "Pipeline file and command line"}, {"MB11", "Checkpoint and recovery"}, {"MB12", "Table and its log"}, {"MB13", "Stores: disk and S3"},
	{"MB20", "Kafka source"}, {"MB21", "Files and generated sources"}, {"MB30", "Rows that do not decode"}, {"MB31", "Files that do not decode"}, {"MB32", "Avro and the schema registry"},
	{"MB40", "Transforms"}, {"MB50", "Other sinks"}, {"MB51", "Kafka sink"}, {"MB52", "PostgreSQL sink"}, {"MB60", "Engine"},
}

// classes say what each class means, in the order of the exit codes.
var classes = []struct {
	class errcode.Class
	text  string
}{
	{errcode.Stop, "not repeated in place; a restart runs the same batch again"},
	{errcode.Config, "the pipeline file, the command line or the surroundings are wrong; nothing was written"},
	{errcode.Corrupt, "what is stored contradicts itself; refused until somebody looks"},
	{errcode.Fenced, "another driver works on the checkpoint; this one ends"},
	{errcode.Data, "rows or user code; the same range fails again until something changes"},
	{errcode.Retry, "network or service; it was repeated with backoff, and did not go away"},
	{errcode.Uncertain, "a write may or may not have happened; nothing was deleted, and the next start reads the truth"},
	{errcode.Conflict, "somebody else changed what a batch was built on; it was tried again, and did not go away"},
}

// errorList is the page of all error codes.
func errorList(string) (string, error) {
	var b strings.Builder
	b.WriteString(`# Errors

<!-- Made from the code by "make docs"; do not edit. -->

Every error that can be met has a code. The message names the place (file:line:column, topic-partition-offset, a key, a table version), and below it
stand what is safe now and what to do next. A code keeps its meaning for ever.

The class of an error decides what the engine does, and the exit code of the command:

| class | exit code | meaning |
|---|---|---|
`)
	for _, c := range classes {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", c.class, c.class.ExitCode(), c.text)
	}
	b.WriteString("\nExit code 0 is success, 1 also an error without a class.\n")
	all := errcode.All()
	listed := 0
	for _, f := range families {
		fmt.Fprintf(&b, "\n## %sxx: %s\n\n", f[0], f[1])
		count := 0
		for _, c := range all {
			if strings.HasPrefix(c.ID, f[0]) {
				fmt.Fprintf(&b, "### %s: %s\n\nClass %s, exit code %d.%s%s\n\n", c.ID, c.Title, c.Class, c.Class.ExitCode(), line("Safe", c.Safe), line("Next", c.Next))
				count++
			}
		}
		if count == 0 {
			b.WriteString("None yet.\n")
		}
		listed += count
	}
	if listed != len(all) {
		return "", fmt.Errorf("docs/errors.md: %d of %d codes belong to no family", len(all)-listed, len(all))
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n"), nil
}

func line(label, text string) string {
	if text == "" {
		return ""
	}
	return "\n**" + label + ":** " + text
}

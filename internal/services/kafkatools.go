package services

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed kafka/tools.xml
var kafkaToolsPom []byte

// KafkaTool runs a command line tool of Kafka itself by its Java class, such as org.apache.kafka.tools.consumer.ConsoleConsumer, and gives what it prints to its
// standard output. A tool that fails, or takes longer than the timeout, fails the test.
func KafkaTool(t testing.TB, timeout time.Duration, class string, args ...string) string {
	t.Helper()
	command := KafkaToolCommand(t, class)
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], args...)...)
	late := time.AfterFunc(timeout, func() { cmd.Process.Kill() })
	out, err := cmd.Output()
	if !late.Stop() {
		err = fmt.Errorf("not within %s: %w", timeout, err)
	}
	if err != nil {
		var text []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			text = exit.Stderr
		}
		t.Fatalf("services: %s %q: %v\n%s\n%s", class, args, err, out, text)
	}
	return string(out)
}

// KafkaToolCommand is how such a tool is called, without its arguments, until the test ends. Its jars come from Maven, once.
func KafkaToolCommand(t testing.TB, class string) []string {
	t.Helper()
	jars, err := mavenJars("kafka-tools-"+kafkaVersion, kafkaToolsPom)
	if err != nil {
		t.Fatalf("services: jars of kafka's tools: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log4j2.properties"), kafkaLogging, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"java", "-Xmx256m", "-cp", dir + ":" + filepath.Join(jars, "*"), class}
}

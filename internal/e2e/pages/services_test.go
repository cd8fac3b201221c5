//go:build services

package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"microbatch/internal/services"
)

// servers are the real ones that the pages speak of.
type servers struct {
	env   []string
	ca    string            // who signed the certificates of broker-1 and broker-2; it lies in each page's folder as ca.pem
	usual map[string]string // the address on the pages: the one here
}

// TestPages does what each page says, and compares what is printed with what it shows.
func TestPages(t *testing.T) {
	s := launch(t)
	for _, page := range run {
		t.Run(filepath.Base(page), func(t *testing.T) { s.follow(t, mustRead(t, page)) })
	}
}

func launch(t *testing.T) servers {
	t.Helper()
	kafka := services.Kafka(t, services.KafkaOptions{Secure: true})
	postgres, minio, spark := services.OwnPostgres(t), services.MinIO(t), services.PySpark(t)
	if err := minio.MakeBucket(t.Context(), "lake"); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", bin, "microbatch/cmd/microbatch")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for name, class := range map[string]string{
		"kafka-topics.sh":           "org.apache.kafka.tools.TopicCommand",
		"kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
		"kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
		"kafka-consumer-groups.sh":  "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	} {
		executable(t, bin, name, "exec '"+strings.Join(services.KafkaToolCommand(t, class), "' '")+`' "$@"`)
	}
	executable(t, bin, "spark-submit", `
for word do # the jars of --packages are on this machine
	shift
	if [ "$word" = --packages ]; then word=--jars; elif [ "${before-}" = --jars ]; then word=$SPARK_JARS; fi
	set -- "$@" "$word"
	before=$word
done
exec `+filepath.Join(filepath.Dir(spark.Python), "spark-submit")+` "$@"`)
	conf := t.TempDir()
	write(t, filepath.Join(conf, "spark-defaults.conf"), 0o600, `spark.master local[2]
spark.ui.enabled false
spark.sql.shuffle.partitions 4
spark.databricks.delta.snapshotPartitions 2
spark.sql.session.timeZone UTC
spark.driver.host 127.0.0.1
`)
	write(t, filepath.Join(conf, "log4j2.properties"), 0o600, `rootLogger.level = error
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c %m%n
`)
	write(t, filepath.Join(conf, "pgpass"), 0o600, "*:*:*:"+postgres.User+":"+postgres.Password+"\n")
	_, port, _ := strings.Cut(postgres.Addr, ":")
	webhook, err := services.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(kafka.CA)
	if err != nil {
		t.Fatal(err)
	}
	return servers{
		ca: string(ca),
		env: append(os.Environ(),
			"PATH="+bin+":"+filepath.Dir(spark.Python)+":"+os.Getenv("PATH"), "TZ=UTC", "PGTZ=UTC",
			"PGPORT="+port, "PGPASSFILE="+filepath.Join(conf, "pgpass"),
			"SPARK_CONF_DIR="+conf, "SPARK_LOCAL_IP=127.0.0.1", "SPARK_JARS="+spark.Jars,
			"KAFKA_PASSWORD="+kafka.Password,
			"MINIO_USER="+minio.AccessKey, "MINIO_PASSWORD="+minio.SecretKey,
		),
		usual: map[string]string{
			"localhost:9092":        kafka.Addr,
			"broker-1:9092":         kafka.SecureAddr,
			"broker-2:9092":         kafka.SecureAddr,
			"localhost:5432":        postgres.Addr,
			"http://localhost:8081": services.SchemaRegistry(t),
			"localhost:8099":        fmt.Sprintf("localhost:%d", webhook), // of the page's own service
			"localhost:9000":        strings.TrimPrefix(minio.Endpoint, "http://"),
		},
	}
}

// follow does what a page says.
func (s servers) follow(t *testing.T, blocks []block) {
	t.Helper()
	text := script(blocks)
	for usual, here := range s.usual {
		text = strings.ReplaceAll(text, usual, here)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	var out, messages bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.TempDir(), s.env, &out, &messages, 5*time.Second
	write(t, filepath.Join(cmd.Dir, "ca.pem"), 0o600, s.ca)
	err := cmd.Run()
	printed := out.String()
	for usual, here := range s.usual {
		printed = strings.ReplaceAll(printed, here, usual)
	}
	shown := ""
	for _, b := range blocks {
		switch b.info {
		case "run":
			shown = printedBy(printed, b.line)
		case "printed":
			if difference := compare(b.text, shown); difference != "" {
				t.Errorf("line %d: %s\nall that was printed:\n%s", b.line, difference, shown)
			}
		}
	}
	if err != nil {
		t.Fatalf("%v\nprinted:\n%s\nmessages:\n%s", errors.Join(err, ctx.Err()), printed, messages.String())
	}
}

func executable(t *testing.T, dir, name, command string) {
	t.Helper()
	write(t, filepath.Join(dir, name), 0o755, fmt.Sprintf("#!/bin/sh\nset -eu\n%s\n", command))
}

func write(t *testing.T, file string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

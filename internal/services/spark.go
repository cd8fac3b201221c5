package services

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The versions go together: the DuckDB extensions load only into 1.5.5, and this Delta only into this Spark.
var (
	pythonPackages  = []string{"deltalake==1.6.6", "duckdb==1.5.5", "duckdb-extension-delta==1.5.5", "duckdb-extension-httpfs==1.5.5", "pyarrow==26.0.1", "pytz==2026.6"}
	pysparkPackages = append([]string{"pyspark==4.2.0", "delta-spark==4.4.0", "psycopg[binary]==3.3.9"}, pythonPackages...)
)

//go:embed spark/pom.xml
var sparkPom []byte

// SparkEnv runs PySpark scripts.
type SparkEnv struct {
	Python string // the interpreter; it has deltalake, duckdb, pyarrow and psycopg too
	Jars   string // those of Delta, of the Kafka source and sink and of PostgreSQL's JDBC driver, comma-separated, for spark.jars
}

// Python is the path of an interpreter that has deltalake, duckdb with its delta and httpfs extensions, and pyarrow.
func Python(t testing.TB) string {
	t.Helper()
	python, err := virtualEnv("python-1", pythonPackages)
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// PySpark is Spark with Delta Lake, its Kafka source and JDBC for PostgreSQL.
func PySpark(t testing.TB) SparkEnv {
	t.Helper()
	env, err := LaunchableSpark()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// LaunchableSpark is PySpark for programs that are not tests.
func LaunchableSpark() (SparkEnv, error) {
	jars, err := mavenJars("spark-4.2.0-jars-2", sparkPom)
	if err != nil {
		return SparkEnv{}, fmt.Errorf("services: spark's jars: %w", err)
	}
	python, err := virtualEnv("pyspark-4.2.0-2", pysparkPackages)
	if err != nil {
		return SparkEnv{}, err
	}
	files, err := filepath.Glob(filepath.Join(jars, "*.jar"))
	return SparkEnv{Python: python, Jars: strings.Join(files, ",")}, err
}

// Session is the beginning of a script: a session named spark with Delta Lake, sized for a small machine.
func (e SparkEnv) Session() string {
	return fmt.Sprintf(`from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]")
    .config("spark.jars", %q)
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.databricks.delta.snapshotPartitions", "2")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
`, e.Jars)
}

// RunPython runs a script with arguments and gives what it prints. A script that fails or takes longer than the timeout fails the test.
func RunPython(t testing.TB, python, script string, timeout time.Duration, args ...string) string {
	t.Helper()
	out, err := runPython(python, script, timeout, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runPython(python, script string, timeout time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-"}, args...)...)
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "SPARK_LOCAL_IP=127.0.0.1")
	cmd.Dir = os.TempDir()          // Spark leaves a spark-warehouse where it runs
	cmd.WaitDelay = 5 * time.Second // Spark's JVM holds the pipes a little longer
	var out, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		text := errors.String()
		return "", fmt.Errorf("services: python: %w\n%s\n%s", err, out.String(), text[max(0, len(text)-8192):])
	}
	return out.String(), nil
}

// virtualEnv is the interpreter of an environment with the packages.
func virtualEnv(name string, packages []string) (string, error) {
	dir, err := fetched(name, func(dir string) error {
		if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("venv: %w\n%s", err, out)
		}
		args := append([]string{"-m", "pip", "install", "-q"}, packages...)
		if out, err := exec.Command(filepath.Join(dir, "bin", "python"), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("pip install: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("services: python environment: %w", err)
	}
	return filepath.Join(dir, "bin", "python"), nil
}

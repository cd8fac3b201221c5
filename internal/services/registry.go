package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// apicurioVersion is the last of the line that is one program with its storage in memory.
const apicurioVersion = "2.6.13.Final"

// SchemaRegistry runs Apicurio, a schema registry with Confluent's API, until the test ends, and gives the address of that API.
func SchemaRegistry(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "apicurio-")
	if err != nil {
		t.Fatal(err)
	}
	r, api, err := launchApicurio(dir)
	if err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return api
}

func launchApicurio(dir string) (*Running, string, error) {
	program, err := fetched("apicurio-"+apicurioVersion, unpackApicurio)
	if err != nil {
		return nil, "", fmt.Errorf("services: apicurio: %w", err)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, "", err
	}
	host, port, err := net.SplitHostPort(ports[0])
	if err != nil {
		return nil, "", err
	}
	api := "http://" + ports[0] + "/apis/ccompat/v7"
	cmd := exec.Command("java", "-Xmx384m", "-jar", filepath.Join(program, "apicurio-registry-app-"+apicurioVersion+"-runner.jar"))
	cmd.Env = append(os.Environ(), "QUARKUS_HTTP_HOST="+host, "QUARKUS_HTTP_PORT="+port)
	r, err := Launch(Process{
		Name: "apicurio", Cmd: cmd, Data: dir, Timeout: 5 * time.Minute,
		Ready: func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/subjects", nil)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", answer.StatusCode)
			}
			return nil
		},
	})
	return r, api, err
}

// unpackApicurio fetches the program, 142 MB, from Maven.
func unpackApicurio(dir string) error {
	artifact := "io.apicurio:apicurio-registry-app:" + apicurioVersion + ":tar.gz:all"
	if out, err := exec.Command("mvn", "-q", "-B", "dependency:copy", "-Dartifact="+artifact, "-DoutputDirectory="+dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, out)
	}
	archive := filepath.Join(dir, "apicurio-registry-app-"+apicurioVersion+"-all.tar.gz")
	if out, err := exec.Command("tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	return os.Remove(archive)
}

// ConfluentPython is the path of an interpreter that has Confluent's Kafka client with its Avro serializer, which is built on fastavro.
func ConfluentPython(t testing.TB) string {
	t.Helper()
	python, err := virtualEnv("confluent-kafka-2.14.0", []string{"confluent-kafka[avro,schemaregistry]==2.14.0", "fastavro==1.13.1"})
	if err != nil {
		t.Fatal(err)
	}
	return python
}

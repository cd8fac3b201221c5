package services

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// The pinned MinIO. It is AGPL: a process of its own in tests, never linked.
const (
	minioPackage = "github.com/minio/minio"
	minioVersion = "v0.0.0-20260212201848-7aac2a2c5b7c"
)

var sharedMinIO = sync.OnceValues(startMinIO)

// MinIO is a MinIO server that all tests of the process share; it ends with the process. Each test makes its own bucket.
func MinIO(t testing.TB) S3Server {
	t.Helper()
	s, err := sharedMinIO()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// LaunchMinIO runs a MinIO server until its process is stopped, or until this process ends: for programs that are not tests.
func LaunchMinIO() (S3Server, error) { return startMinIO() }

// OwnMinIO is a MinIO server of the test's own, which it may kill and start again (Running.Kill, Running.Again).
func OwnMinIO(t testing.TB) S3Server {
	t.Helper()
	s, err := startMinIO()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Process.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func startMinIO() (S3Server, error) {
	bin, err := Install(minioPackage, minioVersion)
	if err != nil {
		return S3Server{}, err
	}
	s := S3Server{Name: "minio", Region: "us-east-1", AccessKey: "minio-test-user", SecretKey: "minio-test-secret"}
	s.Process, s.Endpoint, err = onFreePort(func(address string) (*Running, error) {
		data, err := os.MkdirTemp("", "services-minio-")
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(bin, "server", "--quiet", "--address", address, data)
		cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+s.AccessKey, "MINIO_ROOT_PASSWORD="+s.SecretKey, "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+data)
		return Launch(Process{Name: s.Name, Cmd: cmd, Data: data, Ready: s.answers("http://"+address, "/minio/health/ready")})
	})
	return s, err
}

package services

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// The pinned versitygw.
const (
	versityPackage = "github.com/versity/versitygw/cmd/versitygw"
	versityVersion = "v1.8.0"
)

var sharedVersityGW = sync.OnceValues(startVersityGW)

// VersityGW is a versitygw server over a local folder that all tests of the process share; it ends with the process. Each test makes its own bucket.
func VersityGW(t testing.TB) S3Server {
	t.Helper()
	s, err := sharedVersityGW()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startVersityGW() (S3Server, error) {
	bin, err := Install(versityPackage, versityVersion)
	if err != nil {
		return S3Server{}, err
	}
	s := S3Server{Name: "versitygw", Region: "us-east-1", AccessKey: "versity-test-user", SecretKey: "versity-test-secret"}
	s.Process, s.Endpoint, err = onFreePort(func(address string) (*Running, error) {
		data, err := os.MkdirTemp("", "services-versitygw-")
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(bin, "--access", s.AccessKey, "--secret", s.SecretKey, "--port", address, "--health", "/health", "--quiet", "posix", data)
		return Launch(Process{Name: s.Name, Cmd: cmd, Data: data, Ready: s.answers("http://"+address, "/health")})
	})
	return s, err
}

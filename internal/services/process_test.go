package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestServerEndsWithItsKeeperAndTakesItsFolderAlong(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(data, "ready")
	r, err := Launch(Process{
		Name:  "sleeper",
		Cmd:   exec.Command("/bin/sh", "-c", "touch "+ready+"; exec sleep 1000"),
		Data:  data,
		Ready: func(context.Context) error { _, err := os.Stat(ready); return err },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.PID, 0); err != nil {
		t.Fatalf("server %d does not run: %v", r.PID, err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	<-r.Gone()
	if err := syscall.Kill(r.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("server %d still runs: %v", r.PID, err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder is still there: %v", err)
	}
}

func TestServerThatEndsBeforeItIsReadyFailsWithItsLastWords(t *testing.T) {
	_, err := Launch(Process{
		Name:  "broken",
		Cmd:   exec.Command("/bin/sh", "-c", "echo no such disk; exit 3"),
		Ready: func(context.Context) error { return errors.New("no answer") },
	})
	if err == nil || !strings.Contains(err.Error(), "no such disk") {
		t.Fatalf("want the server's last words, have %v", err)
	}
}

func TestKilledServerIsGone(t *testing.T) {
	r := Start(t, Process{Name: "sleeper", Cmd: exec.Command("sleep", "1000")})
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	<-r.Gone()
}

func TestKilledServerStartsAgainOnItsFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	starts := filepath.Join(data, "starts")
	count := func() int {
		b, err := os.ReadFile(starts)
		if err != nil {
			return 0
		}
		return strings.Count(string(b), "\n")
	}
	want := 1
	r, err := Launch(Process{
		Name: "sleeper", Cmd: exec.Command("/bin/sh", "-c", "echo >>"+starts+"; exec sleep 1000"), Data: data,
		Ready: func(context.Context) error {
			if n := count(); n != want {
				return fmt.Errorf("%d starts", n)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for want = 2; want < 4; want++ {
		if err := errors.Join(r.Kill(), r.Again()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder is still there: %v", err)
	}
}

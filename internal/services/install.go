package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
)

// Install is the path of a Go program at a version, built by "go install" into CacheDir when it is missing: minutes, once per machine.
// Test processes that need it at the same time wait for one of them.
func Install(pkg, version string) (string, error) {
	bin, err := install(pkg, version)
	if err != nil {
		return "", fmt.Errorf("services: install %s@%s: %w", pkg, version, err)
	}
	return bin, nil
}

func install(pkg, version string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	name := path.Base(pkg)
	bin := filepath.Join(dir, name+"-"+version)
	if exists(bin) {
		return bin, nil
	}
	unlock, err := fileLock(filepath.Join(dir, "."+name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(bin) { // built while we waited
		return bin, nil
	}
	return bin, build(pkg+"@"+version, name, bin)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func build(what, name, bin string) error {
	scratch, err := os.MkdirTemp(filepath.Dir(bin), ".build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	cmd := exec.Command("go", "install", what)
	cmd.Dir = scratch
	cmd.Env = append(os.Environ(), "GOBIN="+scratch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return os.Rename(filepath.Join(scratch, name), bin)
}

// fileLock waits for an exclusive lock among processes.
func fileLock(file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "flock", Path: file, Err: err}, f.Close())
	}
	return f.Close, nil
}

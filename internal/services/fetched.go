package services

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// fetched is a folder of CacheDir that build has filled. It is built once for all processes, under a file lock, and appears whole or not at all.
func fetched(name string, build func(dir string) error) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	half := dir + ".partial"
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	if err := os.Mkdir(half, 0o777); err != nil {
		return "", err
	}
	if err := build(half); err != nil {
		return "", err
	}
	return dir, os.Rename(half, dir)
}

// mavenJars is the folder that holds the jars of a pom and what they depend on.
func mavenJars(name string, pom []byte) (string, error) {
	return fetched(name, func(dir string) error {
		file := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(file, pom, 0o666); err != nil {
			return err
		}
		out, err := exec.Command("mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mvn: %w\n%s", err, out)
		}
		return nil
	})
}

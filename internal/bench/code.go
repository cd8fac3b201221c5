package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// code are the paths of git whose changes change what is measured.
func code() []string {
	return []string{"--", ".", ":(exclude)bench", ":(exclude)docs", ":(exclude)issues", ":(exclude,glob)**/*.md"}
}

// commit is the last commit that changed code, with the beginning of a hash of what was changed since: "02a7688ab+1f3c09".
func commit() string {
	git := func(args ...string) ([]byte, error) { return exec.Command("git", append(args, code()...)...).Output() }
	id, err := git("log", "-1", "--format=%h", "--abbrev=9")
	if err != nil || len(id) == 0 {
		return "unknown"
	}
	name := strings.TrimSpace(string(id))
	changes, err := git("diff", "HEAD")
	if err != nil || len(changes) == 0 {
		return name
	}
	return fmt.Sprintf("%s+%.3x", name, sha256.Sum256(changes))
}

// machine describes where this runs.
func machine() string {
	return fmt.Sprintf("%s/%s, %d processors (%s), %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version())
}

// processor is the model of the processor, as far as the kernel tells.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

//go:build services && linux

package localfs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSystemCallsOfOneWrite is a golden of what the kernel is really asked for, and in which order. See testdata/syscalls.txt.
func TestSystemCallsOfOneWrite(t *testing.T) {
	dir := t.TempDir()
	datadriven.RunTest(t, "testdata/syscalls.txt", func(t *testing.T, d *datadriven.TestData) string {
		var key, inject string
		d.ScanArgs(t, "key", &key)
		d.MaybeScanArgs(t, "inject", &inject)
		return kernelCalls(t, dir, d.Cmd, key, inject)
	})
}

// kernelCalls runs the test binary as a child that does one thing to the store dir/store, and says which calls change something. Inject, if it is not empty, is
// strace's: calls that fail.
func kernelCalls(t *testing.T, dir, how, key, inject string) string {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	args := []string{"-f", "-y", "-o", trace, "-e", "trace=openat,write,sync_file_range,fsync,fdatasync,linkat,renameat,renameat2,mkdirat,unlinkat"}
	if inject != "" {
		args = append(args, "-e", "inject="+inject)
	}
	cmd := exec.Command("strace", append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), "PUT_DIR="+filepath.Join(dir, "store"), "PUT_HOW="+how, "PUT_KEY="+key)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("strace: %v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, call := range whole(strings.Split(string(text), "\n")) {
		line := plain(call, dir)
		if line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	said := uniqueID.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(string(out)), dir+"/", ""), "UUID")
	return strings.Join(append(lines, said), "\n") + "\n"
}

var resumed = regexp.MustCompile(`<\.\.\. \w+ resumed>`)

// whole puts calls together that strace has printed in two pieces because another thread was faster.
func whole(lines []string) (calls []string) {
	begun := map[string]string{}
	for _, line := range lines {
		thread, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if half, ok := strings.CutSuffix(rest, "<unfinished ...>"); ok {
			begun[thread] = half
			continue
		}
		if at := resumed.FindStringIndex(rest); at != nil {
			rest = begun[thread] + rest[at[1]:]
		}
		calls = append(calls, rest)
	}
	return calls
}

var (
	callLine = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\d+)(.*)$`)
	at       = regexp.MustCompile(`(?:\d+|AT_FDCWD)<([^>]*)>, "([^"]*)"`)
	onFD     = regexp.MustCompile(`^\d+<([^>]*)>`)
	uniqueID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	verbs    = map[string]string{"sync_file_range": "push", "openat": "create", "linkat": "link", "renameat": "rename", "renameat2": "rename", "mkdirat": "mkdir", "unlinkat": "unlink"}
)

// plain says a call in plain words, "" for one that changes nothing of the store. Folders end in a slash.
func plain(call, dir string) string {
	m := callLine.FindStringSubmatch(call)
	if m == nil || m[1] == "openat" && !strings.Contains(m[2], "O_CREAT") || strings.Contains(m[2], "AT_REMOVEDIR") {
		return ""
	}
	verb, args, result := m[1], m[2], m[4]
	var names []string
	if f := onFD.FindStringSubmatch(args); f != nil && (verb == "write" || verb == "sync_file_range" || verb == "fsync" || verb == "fdatasync") {
		names = append(names, f[1])
	} else {
		for _, n := range at.FindAllStringSubmatch(args, -1) {
			name := n[2]
			if !filepath.IsAbs(name) {
				name = filepath.Join(n[1], name)
			}
			names = append(names, name)
		}
	}
	for i, name := range names {
		if verb == "fsync" && strings.HasPrefix(dir+"/", strings.TrimSuffix(name, "/")+"/") && name != dir {
			return "fsync  the folders above"
		}
		if !strings.HasPrefix(name, dir) {
			return ""
		}
		names[i] = readable(name, dir)
	}
	if v := verbs[verb]; v != "" {
		verb = v
	}
	if strings.Contains(result, "ENOENT") {
		result = "   (not there)"
	} else if strings.Contains(result, "E") {
		result = "   (" + strings.Fields(result)[0] + ")"
	} else {
		result = ""
	}
	return fmt.Sprintf("%-6s %s%s", verb, strings.Join(names, " -> "), result)
}

// readable is a name below dir without what differs from run to run.
func readable(name, dir string) string {
	info, err := os.Stat(name)
	name = uniqueID.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"), "UUID")
	if name == "" {
		name = "."
	}
	if err == nil && info.IsDir() {
		name += "/"
	}
	return name
}

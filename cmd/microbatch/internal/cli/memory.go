package cli

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory tells the garbage collector about the limit of the container, so that it works harder before the kernel kills. GOMEMLIMIT has its way.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := containerMemory(); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 8) // the rest is for DuckDB's and the kernel's share
	}
}

// containerMemory is the limit of the control group (version 2), 0 if there is none.
func containerMemory() int64 {
	b, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return n
}

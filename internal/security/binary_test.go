package security

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fakes are what only tests may be linked with: servers that pretend, faults, seeded bugs.
var fakes = []string{
	"github.com/twmb/franz-go/pkg/kfake", "github.com/johannesboyne/gofakes3", "github.com/anishathalye/porcupine", "github.com/cockroachdb/datadriven", "github.com/rogpeppe/go-internal",
	"github.com/google/go-cmp", "github.com/segmentio/kafka-go", "github.com/minio/minio", "net/http/httptest", "net/http/pprof",
	"microbatch/objstore/faultstore", "microbatch/objstore/storetest", "microbatch/objstore/localfs/crashfs", "microbatch/internal/services", "microbatch/internal/sim", "microbatch/internal/museum",
	"microbatch/internal/heap", "microbatch/internal/figures",
}

// TestTheProgramIsLinkedWithoutFakes asks the go command what the released program is made of.
func TestTheProgramIsLinkedWithoutFakes(t *testing.T) {
	deps := goList(t, "-deps", "-tags", "duckdb_arrow", "./cmd/microbatch")
	for pkg := range strings.Lines(deps) {
		pkg = strings.TrimSpace(pkg)
		for _, fake := range fakes {
			if pkg == fake || strings.HasPrefix(pkg, fake+"/") {
				t.Errorf("the program is linked with %s", pkg)
			}
		}
	}
}

// TestFaultPointsAndSeededBugsAreEmptyInTheProgram: without their build tags the packages are one file each, which does nothing.
func TestFaultPointsAndSeededBugsAreEmptyInTheProgram(t *testing.T) {
	for pkg, on := range map[string]string{"./internal/failpoint": "failpoints", "./internal/bugs": "bugs"} {
		const files = "{{join .GoFiles \" \"}}"
		without, with := goList(t, "-tags", "duckdb_arrow", "-f", files, pkg), goList(t, "-tags", "duckdb_arrow,"+on, "-f", files, pkg)
		if without == with {
			t.Errorf("%s is the same with and without the tag %s: %s", pkg, on, without)
		}
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("go", append([]string{"list"}, args...)...)
	c.Dir = root
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return string(out)
}

// TestLicencesPageIsComplete: docs/licences.md names every module of the program, and none under a licence that asks more of users than to name it.
func TestLicencesPageIsComplete(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\S+) \\|$").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1])
		if strings.Contains(m[2], "GPL") || m[2] == "Unknown" {
			t.Errorf("%s is under %s", m[1], m[2])
		}
	}
	modules := map[string]bool{}
	for line := range strings.Lines(goList(t, "-deps", "-tags", "duckdb_arrow", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/microbatch")) {
		if m := strings.TrimSpace(line); m != "" && m != "microbatch" {
			modules[m] = true
		}
	}
	for m := range modules {
		if !slices.ContainsFunc(listed, func(l string) bool { return l == m || strings.HasPrefix(l, m+"/") }) {
			t.Errorf("docs/licences.md lacks %s: run scripts/supply-chain.sh licences", m)
		}
	}
}

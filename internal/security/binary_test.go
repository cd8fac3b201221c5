package security

import (
	"os/exec"
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

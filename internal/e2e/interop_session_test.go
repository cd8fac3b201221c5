//go:build services

package e2e

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"microbatch/internal/services"
)

//go:embed testdata/session.py
var sessionLoop string

// foreign is other people's software in one Python process: Spark with Delta Lake, deltalake, DuckDB and PyArrow. All tests of this binary share it, because Spark
// takes many seconds to start; it ends when its standard input closes, at the latest with this process.
type foreign struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.Writer
	out    *bufio.Reader
	stderr lockedBuffer
}

var startForeign = sync.OnceValues(func() (*foreign, error) {
	env, err := services.LaunchableSpark()
	if err != nil {
		return nil, err
	}
	scripts, err := filepath.Abs("testdata")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(env.Python, "-c", env.Session()+sessionLoop, scripts)
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "SPARK_LOCAL_IP=127.0.0.1", "TZ=UTC")
	cmd.Dir = os.TempDir() // Spark leaves a folder where it runs
	f := &foreign{cmd: cmd}
	cmd.Stderr = &f.stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	f.in, f.out = in, bufio.NewReader(out)
	return f, errors.Join(inErr, outErr, cmd.Start())
})

// python runs a script in the shared process, with spark and args as variables, and returns what it prints.
func python(t *testing.T, script string, args ...any) string {
	t.Helper()
	f, err := startForeign()
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer time.AfterFunc(10*time.Minute, func() { f.cmd.Process.Kill() }).Stop() // a reader that hangs ends as an error
	answer, err := f.ask(map[string]any{"script": script, "args": args})
	if err != nil {
		t.Fatalf("the shared Python process: %v\n%s", err, f.stderr.String())
	}
	if answer.Error != "" {
		t.Fatalf("python: %s\nit had printed:\n%s", answer.Error, answer.Out)
	}
	return answer.Out
}

type answer struct{ Out, Error string }

// ask sends a request and reads the answer, passing over what Java prints.
func (f *foreign) ask(request any) (a answer, err error) {
	if err := json.NewEncoder(f.in).Encode(request); err != nil {
		return a, err
	}
	for {
		line, err := f.out.ReadString('\n')
		if err != nil {
			return a, fmt.Errorf("no answer: %w", err)
		}
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &a) == nil {
			return a, nil
		}
	}
}

// verdicts runs a script that compares and prints a line for each comparison: "same <what>" or "differs <what>: <how>". It fails the test for the latter, and if
// there are not as many of the former as wanted.
func verdicts(t *testing.T, want int, script string, args ...any) {
	t.Helper()
	same := 0
	for line := range strings.Lines(python(t, script, args...)) {
		if strings.HasPrefix(line, "same ") {
			same++
			continue
		}
		t.Error(strings.TrimSpace(line))
	}
	if same != want && !t.Failed() {
		t.Errorf("%d comparisons, want %d", same, want)
	}
}

//go:build cgo && duckdb_arrow

package targets

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
)

// holdsFile is set in a process of a test that has a DuckDB file open until its input ends.
const holdsFile = "MICROBATCH_TEST_HOLDS_FILE"

// A running query has the file open while it applies a batch: who asks for its position meanwhile waits.
func TestADuckDBFileThatIsInUseIsWaitedFor(t *testing.T) {
	if file := os.Getenv(holdsFile); file != "" {
		hold(t, file)
		return
	}
	file := filepath.Join(t.TempDir(), "x.duckdb")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), holdsFile+"="+file)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = in.Close() }) // the other process ends
	if p, err := (DuckDB{Path: file}).Position(t.Context(), "q"); p != nowhere || err != nil {
		t.Error(p, err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
}

func hold(t *testing.T, file string) {
	session, err := duck.Open(duck.Config{Files: true})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := session.Connect(t.Context())
	if err == nil {
		err = conn.Exec(t.Context(), "ATTACH "+duck.Literal(file)+" AS held")
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	conn.Close()
	session.Close()
	if err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsNoDuckDBDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.duckdb")
	if err := os.WriteFile(file, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := (DuckDB{Path: file}).Position(t.Context(), "q"); p != nowhere || !errcode.Has(err, errcode.DuckDBFailed) {
		t.Error(p, err)
	}
}

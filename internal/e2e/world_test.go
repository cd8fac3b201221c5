package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/internal/services"
)

// world is a pipeline with its input, checkpoint and tables, so small that a whole run takes some hundredths of a second: files of one good row and one
// line that is no row, a batch for each file.
type world struct {
	t      *testing.T
	dir    string
	format string // of the table
	root   string // above checkpoint and tables: a folder, dir if nothing else is asked for, or s3://bucket
	extra  string // lines of the pipeline file
	env    []string
	file   string
	files  int  // written so far
	uid    int  // whom the program runs as, if not as ourselves
	glob   bool // the *.parquet files are exactly the table after a finished recovery
}

// local is a world on local disk.
func local(t *testing.T, format string) *world {
	t.Helper()
	return (&world{t: t, dir: t.TempDir(), format: format, glob: format == "parquet"}).at("")
}

// onS3 is a world whose checkpoint and tables are in a bucket of their own. Endpoint may lead to the server by way of something that breaks connections.
func onS3(t *testing.T, format string, server services.S3Server, endpoint string) *world {
	t.Helper()
	bucket := server.NewBucket(t)
	if endpoint != "" {
		server.Endpoint = endpoint
	}
	w := &world{t: t, dir: t.TempDir(), format: format, glob: format == "parquet"}
	w.extra, w.env = s3Config(server)
	return w.at("s3://" + bucket)
}

// at places checkpoint and tables, and writes the pipeline file. A table checkpoint is written every third version, so that its fault points are passed.
func (w *world) at(root string) *world {
	w.t.Helper()
	if w.root = root; root == "" {
		w.root = w.dir
	}
	w.file = write(w.t, w.dir, "p.yaml", `name: p
source:
  files: {path: in}
  schema: id BIGINT
sink:
  table: {path: "`+w.root+`/table", format: `+w.format+`, properties: {delta.checkpointInterval: "3"}}
checkpoint: `+w.root+`/checkpoint
trigger: {max_files: 1}
`+w.extra)
	return w
}

func (w *world) onDisk() bool { return !strings.HasPrefix(w.root, "s3://") }

// feed adds n files to the input.
func (w *world) feed(n int) {
	w.t.Helper()
	for range n {
		temp := write(w.t, w.dir, "in/.next", fmt.Sprintf("{\"id\":%d}\nno row\n", w.files))
		if err := os.Rename(temp, filepath.Join(w.dir, "in", fmt.Sprintf("%05d.ndjson", w.files))); err != nil {
			w.t.Fatal(err)
		}
		w.files++
	}
}

// command is a command of the program, with the world's environment.
func (w *world) command(args ...string) *exec.Cmd {
	w.t.Helper()
	bin, err := program()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), w.env...)
	if w.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}}
	}
	return cmd
}

// end is how a command has ended.
type end struct {
	code   int // -1: by a signal
	signal syscall.Signal
	out    string // both outputs
}

// run runs a command to its end.
func (w *world) run(args ...string) end {
	w.t.Helper()
	return endOf(w.t, w.command(args...))
}

func endOf(t *testing.T, cmd *exec.Cmd) end {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return ended(t, cmd, &out)
}

// ended waits for a command.
func ended(t *testing.T, cmd *exec.Cmd, out fmt.Stringer) end {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatal(err)
		}
	}
	e := end{code: cmd.ProcessState.ExitCode(), out: out.String()}
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		e.signal = s.Signal()
	}
	return e
}

// must runs a command that has to succeed, and returns what it prints.
func (w *world) must(args ...string) string {
	w.t.Helper()
	e := w.run(args...)
	if e.code != 0 {
		w.t.Fatalf("microbatch %s: exit code %d, signal %v\n%s", strings.Join(args, " "), e.code, e.signal, e.out)
	}
	return e.out
}

// catchUp runs the query to the end of its input.
func (w *world) catchUp() {
	w.t.Helper()
	w.must("start", w.file, "--once", "--progress", "none")
}

// query reads the tables by their logs.
func (w *world) query(sql string) string {
	w.t.Helper()
	return strings.TrimSpace(w.must("query", "--quiet", "--format", "csv", "--pipeline", w.file, sql))
}

// want is what tables of so many whole batches hold: rows, distinct ids, their sum, rejected rows, distinct positions.
func (w *world) want(files int) string {
	return fmt.Sprintf("f\n%d %d %d %d %d", files, files, files*(files-1)/2, files, files)
}

const tableFigures = `SELECT (SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || coalesce(sum(id), 0) FROM p) || ' ' ||
	(SELECT count(*) || ' ' || count(DISTINCT position) FROM p_rejected) AS f`

// exact says that the world is what its input says: each row once in the table, each bad line once among the rejected, log and files agree, nothing is
// pending in the checkpoint and nothing is missing there, and a glob over the folders reads the tables where that is promised.
func (w *world) exact() {
	w.t.Helper()
	if got, want := w.query(tableFigures), w.want(w.files); got != want {
		w.t.Errorf("the tables hold %q, want %q", got, want)
	}
	w.tableInOrder("table")
	w.checkpointInOrder()
	if !w.glob || !w.onDisk() {
		w.tableInOrder("table_rejected")
	} else {
		got := duckText(w.t, `SELECT (SELECT count(*) || ' ' || count(DISTINCT id) FROM read_parquet('`+w.root+`/table/**/*.parquet')) || ' ' ||
			(SELECT count(*) || ' ' || count(DISTINCT position) FROM read_parquet('`+w.root+`/table_rejected/**/*.parquet'))`)
		if want := fmt.Sprintf("%d %d %d %d", w.files, w.files, w.files, w.files); got != want {
			w.t.Errorf("globs see %s, want %s", got, want)
		}
	}
}

// tableInOrder runs `table check`.
func (w *world) tableInOrder(name string) {
	w.t.Helper()
	var check struct {
		Problems, Orphans []any
		GlobExact         bool `json:"glob_exact"`
	}
	e := w.run("table", "check", w.root+"/"+name, "--pipeline", w.file, "--json")
	if err := json.Unmarshal([]byte(e.out), &check); err != nil || e.code != 0 || len(check.Problems) > 0 || w.glob && !check.GlobExact {
		w.t.Errorf("table check %s: exit code %d: %s", name, e.code, e.out)
	}
}

// checkpointInOrder runs `checkpoint show`: the logs are dense, and each batch that was begun is recorded.
func (w *world) checkpointInOrder() {
	w.t.Helper()
	type numbers struct{ First, Last, Count int }
	var show struct {
		Offsets, Commits numbers
		Pending          any
		Problems         []any
	}
	out := w.must("checkpoint", "show", w.file, "--json")
	if err := json.Unmarshal([]byte(out), &show); err != nil || len(show.Problems) > 0 || show.Pending != nil ||
		show.Offsets.Count != show.Offsets.Last-show.Offsets.First+1 || show.Commits != show.Offsets {
		w.t.Errorf("checkpoint: %v\n%s", err, out)
	}
}

// whole says that a reader of the table's log sees whole batches now, whatever has just crashed: the first so many rows, each once.
func (w *world) whole() {
	w.t.Helper()
	e := w.run("query", "--quiet", "--format", "csv", "--pipeline", w.file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || coalesce(max(id), -1) AS f FROM p")
	if e.code != 0 {
		if !strings.Contains(e.out, errcode.NoTable.ID) { // it was not created yet
			w.t.Errorf("query after the crash: exit code %d: %s", e.code, e.out)
		}
		return
	}
	var rows, distinct, last int
	if _, err := fmt.Sscanf(strings.TrimPrefix(e.out, "f\n"), "%d %d %d", &rows, &distinct, &last); err != nil || rows != distinct || last != rows-1 {
		w.t.Errorf("after the crash a reader sees %q (%v)", e.out, err)
	}
}

// coded is how every error ends up on standard error.
var coded = regexp.MustCompile(`(?ms)^error: .*?\b(MB\d{4}) .*\n\s+safe: .*\n\s+next: `)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

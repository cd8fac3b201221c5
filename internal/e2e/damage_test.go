package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"microbatch/sources/orders"
)

// exitOf runs the program and returns its exit code and what it prints.
func exitOf(t *testing.T, args ...string) (int, string) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return commandExit(t, bin, args...)
}

// commandExit is exitOf for any command.
func commandExit(t *testing.T, name string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestDamage is the table of docs/exactly-once.md, row by row, on the real program and a real table: five batches of orders are in the table, something is
// broken, and then a start, a repair and a start have the exit codes that are printed there; at the end every event is in the table once.
func TestDamage(t *testing.T) {
	template := t.TempDir()
	pipeline := func(dir string, rows int) string {
		return write(t, dir, "microbatch.yaml", fmt.Sprintf("name: orders\nsource:\n  orders: {rows: %d, rows_per_second: 0}\nsink:\n  table: {path: table}\ncheckpoint: checkpoint\ntrigger: {max_rows: 1000}\n", rows))
	}
	if code, out := exitOf(t, "start", pipeline(template, 5000), "--once"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	remove := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, n := range names {
				if err := os.RemoveAll(filepath.Join(dir, n)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tear := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err == nil {
				err = os.Truncate(filepath.Join(dir, name), info.Size()/2)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	olderTable := func(t *testing.T, dir string) { // the table as it was before its last batch
		data, err := os.ReadFile(filepath.Join(dir, "table/_metadata/_00000000000000000005.json"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, rest, ok := strings.Cut(line, `"add":{"path":"`); ok {
				name, _, _ := strings.Cut(rest, `"`)
				remove("table/"+name)(t, dir)
			}
		}
		remove("table/_metadata/_00000000000000000005.json")(t, dir)
	}
	both := func(fs ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, f := range fs {
				f(t, dir)
			}
		}
	}
	killed := func(t *testing.T, dir string) { // with files staged for batch 5
		c := start(t, []string{"MICROBATCH_FAILPOINT=prepare.after:kill:1"}, pipeline(dir, 6000), "--once")
		if code := c.exit(); code != -1 {
			t.Fatalf("exit code %d: %s", code, c.stderr.String())
		}
	}
	for _, c := range []struct {
		name          string
		damage        func(*testing.T, string)
		start, repair int
		code          string
		flags         []string
	}{
		{name: "commits/last deleted", damage: remove("checkpoint/commits/4")},
		{name: "offsets/last torn, in the table", damage: tear("checkpoint/offsets/4"), start: 3, code: "MB1102"},
		{name: "offsets/last torn, not in the table", damage: both(tear("checkpoint/offsets/4"), remove("checkpoint/commits/4"), olderTable), start: 3, code: "MB1102"},
		{name: "offsets/last deleted, pending with staged files", damage: both(killed, remove("checkpoint/offsets/5"))},
		{name: "offsets/last torn, pending with staged files", damage: both(killed, tear("checkpoint/offsets/5")), start: 3, code: "MB1102"},
		{name: "commits/last torn", damage: tear("checkpoint/commits/4"), start: 3, code: "MB1102"},
		{name: "offsets missing in the middle", damage: remove("checkpoint/offsets/2"), start: 3, code: "MB1101"},
		{name: "commits missing in the middle", damage: remove("checkpoint/commits/2"), start: 3, code: "MB1101"},
		{name: "metadata deleted", damage: remove("checkpoint/metadata"), start: 3, code: "MB1102"},
		{name: "metadata torn", damage: tear("checkpoint/metadata"), start: 3, repair: 3, code: "MB1102"},
		{name: "older checkpoint restored", damage: remove("checkpoint/offsets/3", "checkpoint/offsets/4", "checkpoint/commits/3", "checkpoint/commits/4"), start: 3, code: "MB1103"},
		{name: "checkpoint deleted", damage: remove("checkpoint"), start: 2, code: "MB1107"},
		{name: "older table restored", damage: olderTable, start: 3, repair: 3, code: "MB1104"},
		{name: "older table restored, rewound", damage: olderTable, start: 3, code: "MB1104", flags: []string{"--rewind"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir)
			file := pipeline(dir, 6000)
			code, out := exitOf(t, "start", file, "--once")
			if code != c.start || !strings.Contains(out, c.code) {
				t.Fatalf("start: exit code %d, want %d with %s:\n%s", code, c.start, c.code, out)
			}
			if c.start != 0 {
				code, out = exitOf(t, append([]string{"checkpoint", "repair", file}, c.flags...)...)
				if code != c.repair {
					t.Fatalf("repair: exit code %d, want %d:\n%s", code, c.repair, out)
				}
				if c.repair != 0 {
					return
				}
				if code, out = exitOf(t, "start", file, "--once"); code != 0 {
					t.Fatalf("start after the repair: exit code %d:\n%s", code, out)
				}
			}
			want := orders.Expect(1, 6000)
			got := duckText(t, "SELECT count(*) || ' ' || count(DISTINCT order_id) || ' ' || (sum(amount) * 100)::BIGINT FROM read_parquet('"+dir+"/table/**/*.parquet')")
			if got != fmt.Sprintf("%d %d %d", want.Events, want.Orders, want.Cents) {
				t.Errorf("the table holds %s, want %+v", got, want)
			}
		})
	}
	t.Run("checkpoint copied, both ran on", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "checkpoint"))); err != nil {
			t.Fatal(err)
		}
		file := pipeline(dir, 6000)
		if code, out := exitOf(t, "start", file, "--once"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		code, out := exitOf(t, "start", file, "--once", "--set", "checkpoint="+filepath.Join(dir, "copy"))
		if code != 3 || !strings.Contains(out, "MB1103") {
			t.Errorf("the copy: exit code %d, want 3 with MB1103:\n%s", code, out)
		}
	})
}

// TestDamageOfAQueryOnFiles: the table does not hold which files were seen, so a checkpoint that is older or gone cannot be rebuilt from it, and repair says so.
func TestDamageOfAQueryOnFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		remove []string
		start  int
		code   string
	}{
		{"older checkpoint restored", []string{"offsets/2", "commits/2", "sources/0/2"}, 3, "MB1103"},
		{"checkpoint deleted", []string{""}, 2, "MB1107"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := write(t, dir, "microbatch.yaml", "name: f\nsource:\n  files: {path: in}\n  schema: id INT\nsink:\n  table: {path: table}\ncheckpoint: checkpoint\ntrigger: {max_files: 1}\n")
			if err := os.Mkdir(filepath.Join(dir, "in"), 0o777); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				write(t, filepath.Join(dir, "in"), fmt.Sprintf("%d.ndjson", n), fmt.Sprintf("{\"id\": %d}\n", n))
			}
			if code, out := exitOf(t, "start", file, "--once"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			for _, name := range c.remove {
				if err := os.RemoveAll(filepath.Join(dir, "checkpoint", name)); err != nil {
					t.Fatal(err)
				}
			}
			if code, out := exitOf(t, "start", file, "--once"); code != c.start || !strings.Contains(out, c.code) {
				t.Errorf("start: exit code %d, want %d with %s:\n%s", code, c.start, c.code, out)
			}
			if code, out := exitOf(t, "checkpoint", "repair", file); code != 3 || !strings.Contains(out, "MB1115") {
				t.Errorf("repair: exit code %d, want 3 with MB1115:\n%s", code, out)
			}
			if rows := duckText(t, "SELECT count(*) FROM read_parquet('"+dir+"/table/**/*.parquet')"); rows != "3" {
				t.Errorf("%s rows in the table, want 3", rows)
			}
		})
	}
}

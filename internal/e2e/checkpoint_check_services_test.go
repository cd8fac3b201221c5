//go:build services

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"microbatch/internal/services"
)

// checkSink runs checkpoint check. violation is what it has to find; "": nothing is wrong, and word is in its report.
func checkSink(t *testing.T, d *world, violation, word string) {
	t.Helper()
	e := endOf(t, d.command("checkpoint", "check", d.file))
	switch {
	case violation == "" && (e.code != 0 || !strings.Contains(e.out, "the sink holds") || !strings.Contains(e.out, word)):
		t.Errorf("exit code %d, want 0 and %q:\n%s", e.code, word, e.out)
	case violation != "" && (e.code != 3 || !strings.Contains(e.out, violation) || !strings.Contains(e.out, "MB1116")):
		t.Errorf("exit code %d, want 3, MB1116 and %q:\n%s", e.code, violation, e.out)
	}
}

// restored puts back what a folder was when the returned function was made.
func restored(t *testing.T, dir string) (restore func()) {
	t.Helper()
	saved := filepath.Join(t.TempDir(), "saved")
	if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckOfAPostgresPosition: before the first batch, between commit and record, after a change by hand, and beside an older checkpoint.
func TestCheckOfAPostgresPosition(t *testing.T) {
	server := services.Postgres(t)
	for _, sink := range []string{"", ", mode: upsert, keys: [id]"} {
		t.Run(sink, func(t *testing.T) {
			d := toPostgres(t, server, server.Addr, fromFiles, sink)
			d.feed(5)
			if !d.killedAt("start.claimed", 1, "start", d.file, "--once", "--progress", "none") {
				t.Fatal("not killed")
			}
			checkSink(t, d.world, "", "which holds no batch of the query")
			if !d.killedAt("commit.after", 3, "start", d.file, "--once", "--progress", "none") {
				t.Fatal("not killed")
			}
			checkSink(t, d.world, "", "batch 2 is in the sink and not recorded yet")
			older := restored(t, d.dir+"/checkpoint")
			d.catchUp()
			checkSink(t, d.world, "", "batch 4, digest ")
			latest := restored(t, d.dir+"/checkpoint")
			older()
			checkSink(t, d.world, "the sink holds batch 4, which the checkpoint does not have", "")
			latest()
			for _, c := range []struct{ change, back, violation string }{
				{"digest = 'x' || digest", "digest = substr(digest, 2)", "with another digest"},
				{"batch = batch - 1", "batch = batch + 1", "batch 4 is recorded, but not in the sink, which holds batches up to 3"},
				{"epoch = epoch + 7", "epoch = epoch - 7", "the checkpoint's newest is"},
				{"entry = entry || 'f'", "entry = left(entry, -1)", "which run"},
				{"target = 'other'", "target = 'orders'", "which holds no batch"},
			} {
				server.Exec(t, d.name, "UPDATE microbatch_positions SET "+c.change)
				checkSink(t, d.world, c.violation, "")
				server.Exec(t, d.name, "UPDATE microbatch_positions SET "+c.back)
			}
			checkSink(t, d.world, "", "batch 4, digest ")
			if out := endOf(t, d.command("checkpoint", "check", d.file, "--json")); out.code != 0 || !strings.Contains(out.out, `"batch": 4`) || !strings.Contains(out.out, `"violations": []`) {
				t.Errorf("exit code %d: %s", out.code, out.out)
			}
			server.Exec(t, d.name, "DROP TABLE microbatch_positions")
			checkSink(t, d.world, "batch 4 is recorded, but not in the sink, which holds no batch", "")
		})
	}
}

// TestCheckOfAKafkaMarker is the same with a topic, where a killed driver leaves a transaction open.
func TestCheckOfAKafkaMarker(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{})
	r := newRelay(t, broker.Addr, "check")
	w := &world{t: t, dir: r.dir, root: r.dir, file: r.file}
	r.feed(100)
	if !r.killedAt("commit.after", 3) {
		t.Fatal("not killed")
	}
	checkSink(t, w, "", "batch 2 is in the sink and not recorded yet")
	if !r.killedAt("kafka.before-end", 2) {
		t.Fatal("not killed")
	}
	checkSink(t, w, "", "is fixed and not in the sink yet") // its transaction is open
	older := restored(t, r.dir+"/checkpoint")
	r.feed(100)
	r.finish()
	r.exact()
	checkSink(t, w, "", "the sink holds exactly")
	latest := restored(t, r.dir+"/checkpoint")
	older()
	checkSink(t, w, "which the checkpoint does not have", "")
	latest()
	group := r.markerGroup()
	marker, err := r.admin.FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := marker.Lookup(r.out, 0)
	set := func(offset int64, metadata string) {
		t.Helper()
		var offsets kadm.Offsets
		offsets.Add(kadm.Offset{Topic: r.out, At: offset, LeaderEpoch: -1, Metadata: metadata})
		if err := r.admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
			t.Fatal(err)
		}
	}
	set(was.At, strings.Replace(was.Metadata, `"digest":"`, `"digest":"0`, 1))
	checkSink(t, w, "with another digest", "")
	set(was.At, was.Metadata)
	checkSink(t, w, "", "the sink holds exactly")
	r.feed(2000)
	query := r.start()
	for range 10 { // beside the running query, which is in the middle of a transaction most of the time
		if !query.batch(time.Minute) {
			t.Fatal(query.stderr.String())
		}
		checkSink(t, w, "", "the sink holds exactly")
	}
	query.kill()
	r.finish()
	if marker, err = r.admin.FetchOffsets(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	was, _ = marker.Lookup(r.out, 0)
	set(was.At-1, was.Metadata)
	if e := endOf(t, w.command("checkpoint", "check", w.file)); e.code != 3 || !strings.Contains(e.out, "MB5109") {
		t.Errorf("offset and metadata do not fit: exit code %d: %s", e.code, e.out)
	}
	if _, err := r.admin.DeleteGroup(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	checkSink(t, w, "but not in the sink, which holds no batch", "")
}

// markerGroup is the group of the marker: the only one of that name on a broker of one's own.
func (r *relay) markerGroup() string {
	r.t.Helper()
	all, err := r.admin.ListGroups(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for name := range all {
		if strings.HasPrefix(name, "microbatch-") {
			return name
		}
	}
	r.t.Fatal("there is no marker")
	return ""
}

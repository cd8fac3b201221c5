package files

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

const big = 500_000 // lines, about 6 MB

func TestOneLargeFileIsReadByAllSplits(t *testing.T) {
	r := newRig(t)
	r.format.rowsAChunk = 5000
	r.config.Format = r.format
	r.write("big", big)
	r.write("small", 3)
	s := r.start()
	to := r.plan(s, "", sources.Limit{})
	for _, want := range []int{1, 2, 7} {
		splits, err := s.Splits(t.Context(), "", to, nil, want)
		must0(t, err)
		if len(splits) != want {
			t.Errorf("%d splits, want %d", len(splits), want)
		}
		if rows := r.read(s, "", to, want); len(rows) != big+3 || rows[0] != "big:0" {
			t.Errorf("%d rows by %d splits", len(rows), want)
		}
	}
}

func TestSplitsMayBePulledOneAfterAnotherAndLeftEarly(t *testing.T) {
	r := newRig(t)
	r.format.rowsAChunk = 5000
	r.config.Format = r.format
	r.write("big", big)
	s := r.start()
	to := r.plan(s, "", sources.Limit{})
	splits, err := s.Splits(t.Context(), "", to, nil, 3)
	must0(t, err)
	for chunk, err := range splits[1].Records(t.Context()) {
		must0(t, err)
		chunk.Release()
		break
	}
	rows, err := drain(splits[0])
	must0(t, err)
	last, err := drain(splits[2])
	must0(t, err)
	if len(last) != 0 || len(rows) == 0 || len(rows) >= big {
		t.Errorf("%d and %d rows", len(rows), len(last))
	}
	if u := splits[0].Reached().Units[0]; u.Covered >= u.Want {
		t.Error("a range that was left early passes for read:", u)
	}
}

func TestMalformedRowsAreCountedAndPlaced(t *testing.T) {
	r := newRig(t)
	r.writeText("a", "one\nbad two\nthree\n")
	s := r.start()
	if got := r.read(s, "", r.plan(s, "", sources.Limit{}), 1); !slices.Equal(got, []string{"one", "rejected a@4", "three"}) {
		t.Error(got)
	}
}

func TestAFileThatChangedSinceItsPlanIsAnError(t *testing.T) {
	path := func(r *rig) string { return filepath.Join(r.dir, "a") }
	for name, change := range map[string]func(*rig){
		"grown": func(r *rig) {
			f, err := os.OpenFile(path(r), os.O_APPEND|os.O_WRONLY, 0)
			must0(t, err)
			_, err = f.WriteString("more\n")
			must0(t, err)
			must0(t, f.Close())
			must0(t, os.Chtimes(path(r), r.clock, r.clock))
		},
		"cut":         func(r *rig) { must0(t, os.Truncate(path(r), 3)) },
		"touched":     func(r *rig) { must0(t, os.Chtimes(path(r), r.clock, r.clock.Add(time.Millisecond))) },
		"overwritten": func(r *rig) { r.writeText("a", "A:0\nA:1\nA:2\n") },
	} {
		r := newRig(t)
		r.write("a", 3)
		s := r.start()
		to := r.plan(s, "", sources.Limit{})
		r.read(s, "", to, 1)
		change(r)
		for _, s := range []*Source{s, r.start()} {
			_, err := r.tryRead(s, "", to, 1)
			if !errcode.Has(err, errcode.FileChanged) || !strings.Contains(err.Error(), path(r)) {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if detail := errcode.Detail(err); !strings.Contains(detail, "touch -d 2026-03-01T00:00:01.000Z") || !strings.Contains(detail, "12 bytes") {
				t.Errorf("%s: no remedy: %s", name, detail)
			}
		}
	}
}

func TestAFileThatIsChangedWhileItIsReadIsAnError(t *testing.T) {
	for name, change := range map[string]func(r *rig, name string) error{
		"written to": func(r *rig, name string) error { return os.Chtimes(name, r.clock, r.clock.Add(time.Second)) },
		"cut":        func(_ *rig, name string) error { return os.Truncate(name, 10) },
	} {
		r := newRig(t)
		r.write("a", 2_000_000)
		s := r.start()
		splits, err := s.Splits(t.Context(), "", r.plan(s, "", sources.Limit{}), nil, 1)
		must0(t, err)
		var last error
		for chunk, err := range splits[0].Records(t.Context()) {
			last = err
			chunk.Release()
			must0(t, change(r, filepath.Join(r.dir, "a")))
		}
		if !errcode.Has(last, errcode.FileChanged) {
			t.Errorf("%s: %v", name, last)
		}
	}
}

func TestAFileThatIsGoneIsAnErrorUntilItIsBack(t *testing.T) {
	r := newRig(t)
	r.write("a", 3)
	r.write("b", 1)
	s := r.start()
	to := r.plan(s, "", sources.Limit{})
	away := filepath.Join(t.TempDir(), "a")
	must0(t, os.Rename(filepath.Join(r.dir, "a"), away))
	_, err := r.tryRead(s, "", to, 2)
	if !errcode.Has(err, errcode.FileGone) || !strings.Contains(err.Error(), r.dir+"/a") {
		t.Error(err)
	}
	must0(t, os.Rename(away, filepath.Join(r.dir, "a")))
	if rows := r.read(r.start(), "", to, 2); len(rows) != 4 {
		t.Error(rows)
	}
}

func TestAMissingFileCanBeLeftOut(t *testing.T) {
	r := newRig(t)
	r.config.SkipMissing = true
	r.write("a", 3)
	r.write("b", 1)
	s := r.start()
	to := r.plan(s, "", sources.Limit{})
	must0(t, os.Remove(filepath.Join(r.dir, "a")))
	for _, want := range []int{1, 2} {
		if rows := r.read(s, "", to, want); !slices.Equal(rows, linesOf(1, "b")) {
			t.Error(rows)
		}
	}
	if len(r.notices) != 2 || !strings.Contains(r.notices[0], r.dir+"/a is gone") {
		t.Error(r.notices)
	}
}

func TestAFileThatGrowsAfterItWasReadIsNoticedOnce(t *testing.T) {
	r := newRig(t)
	r.write("a", 3)
	s := r.start()
	_, at, _ := r.all(s, "", sources.Limit{})
	r.write("a", 4)
	for range 3 {
		if rows, _, _ := r.all(s, at, sources.Limit{}); rows != nil {
			t.Error(rows)
		}
	}
	if len(r.notices) != 1 || !strings.Contains(r.notices[0], "/a changed after it was read") {
		t.Error(r.notices)
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func zstded(t testing.TB, text string) string {
	w, err := zstd.NewWriter(nil)
	must0(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}

func TestCompressedFilesAreReadByTheirName(t *testing.T) {
	r := newRig(t)
	r.writeText("a.json.gz", gzipped("1\n2\n")+gzipped("3\n")) // two members, as concatenated logs have
	r.writeText("b.zst", zstded(t, "4\n"))
	r.writeText("c.GZ", gzipped("5\n"))
	r.writeText("d", "6\n")
	s := r.start()
	if got := r.read(s, "", r.plan(s, "", sources.Limit{}), 3); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6"}) {
		t.Error(got)
	}
}

func TestABombIsStopped(t *testing.T) {
	bomb := strings.Repeat(strings.Repeat("x", 1023)+"\n", 80<<10) // 80 MiB
	for name, content := range map[string]string{"a.gz": gzipped(bomb), "a.zst": zstded(t, bomb)} {
		r := newRig(t)
		r.format.rowsAChunk = 1000
		r.config.Format = r.format
		r.config.MaxInflation = 2
		r.writeText(name, content)
		s := r.start()
		splits, err := s.Splits(t.Context(), "", r.plan(s, "", sources.Limit{}), nil, 1)
		must0(t, err)
		var last error
		for chunk, err := range splits[0].Records(t.Context()) {
			last = err
			chunk.Release()
		}
		if !errcode.Has(last, errcode.FileBomb) || !strings.Contains(last.Error(), name) {
			t.Errorf("%s of %d bytes: %v", name, len(content), last)
		}
	}
}

func TestDamagedCompressedFilesAreNamed(t *testing.T) {
	sound := gzipped(strings.Repeat("some text\n", 1000))
	flipped := []byte(sound)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	frame := zstded(t, strings.Repeat("some text\n", 1000))
	for name, content := range map[string]string{
		"cut.gz": sound[:len(sound)/2], "flipped.gz": string(flipped), "plain.gz": "not compressed\n", "trailing.gz": sound + "x", "short.gz": sound[:4],
		"cut.zst": frame[:len(frame)/2], "plain.zst": "not compressed\n",
	} {
		r := newRig(t)
		r.writeText(name, content)
		s := r.start()
		if _, err := r.tryRead(s, "", r.plan(s, "", sources.Limit{}), 1); !errcode.Has(err, errcode.ArchiveDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEndedContextEndsTheStream(t *testing.T) {
	r := newRig(t)
	r.write("a", 3)
	s := r.start()
	splits, err := s.Splits(t.Context(), "", r.plan(s, "", sources.Limit{}), nil, 1)
	must0(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range splits[0].Records(ctx) {
		if err == nil || ctx.Err() == nil {
			t.Error(err)
		}
	}
}

// etagStore gives each object an etag of its content, and modification times that say nothing, like a bucket that was restored.
type etagStore struct{ objstore.Store }

func (e etagStore) Stat(ctx context.Context, key string) (objstore.Info, error) {
	info, err := e.Store.Stat(ctx, key)
	if err != nil {
		return info, err
	}
	data, err := e.Get(ctx, key)
	info.ETag = fmt.Sprintf("%08x", crc32.ChecksumIEEE(data))
	return info, err
}

func (e etagStore) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for info, err := range e.Store.List(ctx, prefix, after) {
			if err == nil {
				info, err = e.Stat(ctx, info.Key)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestABucketPrefixIsReadAndEtagsAreCompared(t *testing.T) {
	r := newRig(t)
	bucket := etagStore{mem.New()}
	r.config.Store, r.config.Root = objstore.Prefix(bucket, "lake/in"), "s3://bucket/lake/in"
	must0(t, bucket.Put(t.Context(), "lake/in/x/a", []byte("1\n2\n")))
	must0(t, bucket.Put(t.Context(), "lake/input/b", []byte("3\n")))
	s := r.start()
	to := r.plan(s, "", sources.Limit{})
	if got := r.read(s, "", to, 2); !slices.Equal(got, []string{"1", "2"}) {
		t.Error(got)
	}
	data, err := r.own.Get(t.Context(), "0")
	must0(t, err)
	if !strings.Contains(string(data), `"path":"s3://bucket/lake/in/x/a"`) || !strings.Contains(string(data), `,"size":4,"etag":"`) {
		t.Errorf("%s", data)
	}
	must0(t, bucket.Put(t.Context(), "lake/in/x/a", []byte("1\n2\n"))) // the same bytes at another time
	if got := r.read(r.start(), "", to, 2); len(got) != 2 {
		t.Error(got)
	}
	must0(t, bucket.Put(t.Context(), "lake/in/x/a", []byte("1\n3\n")))
	if _, err := r.tryRead(r.start(), "", to, 2); !errcode.Has(err, errcode.FileChanged) || !strings.Contains(err.Error(), "etag") {
		t.Error(err)
	}
}

func TestOffsetsAreCanonical(t *testing.T) {
	for _, n := range []int64{-1, 0, 12} {
		if back, err := parseOffset(formatOffset(n)); err != nil || back != n {
			t.Error(n, back, err)
		}
	}
	if formatOffset(12) != ident.Offset(`{"logOffset":12}`) {
		t.Error(formatOffset(12))
	}
}

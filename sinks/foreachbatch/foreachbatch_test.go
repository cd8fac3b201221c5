package foreachbatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

// part yields chunks of the numbers [from, to), ten at a time, and an error after them if there is one.
func part(alloc memory.Allocator, from, to int64, last error) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(alloc, schema)
			defer b.Release()
			for n := from; n < to; n++ {
				b.Field(0).(*array.Int64Builder).Append(n)
				b.Field(1).(*array.StringBuilder).Append(strconv.FormatInt(n, 10))
				if ((n+1)%10 == 0 || n == to-1) && !yield(batch.Chunk{Record: b.NewRecordBatch()}, nil) {
					return
				}
			}
			if last != nil {
				yield(batch.Chunk{}, last)
			}
		}
	})
}

// fixture is a sink in epoch 3 of query q-1, and its allocator.
func fixture(t *testing.T, config Config) (*Sink, memory.Allocator) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { alloc.AssertSize(t, 0) })
	config.Alloc, config.SpoolDir = alloc, t.TempDir()
	s, err := New(config)
	must(t, err)
	must(t, s.Check(t.Context(), schema))
	newest := func(context.Context) (ident.Epoch, error) { return 3, nil }
	must(t, s.Recover(t.Context(), sinks.QueryInfo{ID: "q-1", Epoch: 3, Newest: newest}, nil))
	t.Cleanup(func() {
		if left, _ := os.ReadDir(config.SpoolDir); len(left) > 0 {
			t.Error("left in the spool directory:", left)
		}
	})
	return s, alloc
}

func testBatch(id ident.BatchID, parts ...batch.Part) *batch.Batch {
	return &batch.Batch{ID: id, Attempt: "a77", Digest: ident.DigestOf([]byte("entry")), Timestamp: time.Unix(1, 0), Schema: schema, Parts: parts}
}

// apply prepares and commits, and aborts after an error.
func apply(t *testing.T, s *Sink, b *batch.Batch) error {
	t.Helper()
	p, err := s.Prepare(t.Context(), b)
	must(t, err)
	r, err := s.Commit(t.Context(), p)
	if err != nil {
		must(t, s.Abort(t.Context(), p))
		return err
	}
	if r.Outcome != sinks.Committed {
		t.Error(r)
	}
	return nil
}

func numbers(t *testing.T, r array.RecordReader) (all []int64) {
	t.Helper()
	defer r.Release()
	for r.Next() {
		all = append(all, r.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	must(t, r.Err())
	slices.Sort(all)
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func upTo(n int64) (all []int64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestAFunctionGetsTheBatchAndItsRowsAsOftenAsItLikes(t *testing.T) {
	var got Batch
	var first, second []int64
	s, alloc := fixture(t, Config{Func: func(_ context.Context, b Batch) error {
		got = b
		for _, rows := range []*[]int64{&first, &second} {
			r, err := b.Rows()
			if err != nil {
				return err
			}
			*rows = numbers(t, r)
		}
		return nil
	}})
	b := testBatch(5, part(alloc, 0, 33, nil), part(alloc, 33, 40, nil), part(alloc, 0, 0, nil))
	must(t, apply(t, s, b))
	if !slices.Equal(first, upTo(40)) || !slices.Equal(second, upTo(40)) {
		t.Error(first, second)
	}
	if got.Query != "q-1" || got.ID != 5 || got.Epoch != 3 || got.Attempt != "a77" || got.Digest != b.Digest || got.Count != 40 || !got.Schema.Equal(schema) || !got.Timestamp.Equal(b.Timestamp) {
		t.Errorf("%+v", got)
	}
}

func TestNothingIsPassedBeforeCommitOrAfterAbort(t *testing.T) {
	calls := 0
	s, alloc := fixture(t, Config{Func: func(context.Context, Batch) error { calls++; return nil }})
	p, err := s.Prepare(t.Context(), testBatch(0, part(alloc, 0, 5, nil)))
	must(t, err)
	if staged := p.Staged(); staged.Rows != 5 || staged.Bytes == 0 {
		t.Error(staged)
	}
	must(t, s.Abort(t.Context(), p))
	if calls != 0 {
		t.Error(calls)
	}
}

func TestAnErrorOfAPartFailsPrepareAndLeavesNothing(t *testing.T) {
	s, alloc := fixture(t, Config{Func: func(context.Context, Batch) error { return nil }})
	broken := errors.New("broken")
	if _, err := s.Prepare(t.Context(), testBatch(0, part(alloc, 0, 20, nil), part(alloc, 0, 7, broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestRowsThatCannotBeSpooledAreAnErrorWithThePlace(t *testing.T) {
	s, _ := fixture(t, Config{Func: func(context.Context, Batch) error { return nil }})
	s.config.SpoolDir = filepath.Join(t.TempDir(), "gone")
	_, err := s.Prepare(t.Context(), testBatch(0))
	if !errcode.Has(err, errcode.SpoolFailed) || !strings.Contains(err.Error(), s.config.SpoolDir) {
		t.Error(err)
	}
}

func TestAnErrorOfAFunctionHasACodeAndTheBatch(t *testing.T) {
	broken := errors.New("no such table")
	s, _ := fixture(t, Config{Func: func(context.Context, Batch) error { return broken }})
	err := apply(t, s, testBatch(8))
	if !errcode.Has(err, errcode.ForeachFailed) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "batch 8 of query q-1") {
		t.Error(err)
	}
}

func TestAProgramReadsOneArrowStreamAndItsEnvironment(t *testing.T) {
	dir := t.TempDir()
	s, alloc := fixture(t, Config{Command: []string{"sh", "-c", `env | grep -E '^(MICROBATCH|EXTRA)' | sort > env-$MICROBATCH_BATCH_ID; cat > rows-$MICROBATCH_BATCH_ID; echo done`}, Env: []string{"EXTRA=1"}, Dir: dir})
	b := testBatch(7, part(alloc, 0, 1000, nil))
	must(t, apply(t, s, b))
	env, err := os.ReadFile(filepath.Join(dir, "env-7"))
	must(t, err)
	want := "EXTRA=1\nMICROBATCH_ATTEMPT=a77\nMICROBATCH_BATCH_ID=7\nMICROBATCH_DIGEST=" + b.Digest.String() + "\nMICROBATCH_EPOCH=3\nMICROBATCH_QUERY_ID=q-1\n"
	if string(env) != want {
		t.Errorf("%s\nwant %s", env, want)
	}
	rows, err := os.ReadFile(filepath.Join(dir, "rows-7"))
	must(t, err)
	r, err := ipc.NewReader(bytes.NewReader(rows))
	must(t, err)
	if got := numbers(t, r); !slices.Equal(got, upTo(1000)) {
		t.Error(got)
	}
}

func TestABatchWithoutRowsIsPassedWithItsSchema(t *testing.T) {
	dir := t.TempDir()
	s, _ := fixture(t, Config{Command: []string{"sh", "-c", "cat > rows"}, Dir: dir})
	must(t, apply(t, s, testBatch(0)))
	rows, err := os.ReadFile(filepath.Join(dir, "rows"))
	must(t, err)
	r, err := ipc.NewReader(bytes.NewReader(rows))
	must(t, err)
	defer r.Release()
	if !r.Schema().Equal(schema) || r.Next() {
		t.Error(r.Schema())
	}
}

func TestAProgramThatNeedsNoRowsMayLeaveThem(t *testing.T) {
	s, alloc := fixture(t, Config{Command: []string{"true"}})
	must(t, apply(t, s, testBatch(0, part(alloc, 0, 200_000, nil))))
}

func TestAnotherExitStatusIsAnErrorWithTheEndOfStandardError(t *testing.T) {
	s, _ := fixture(t, Config{Command: []string{"sh", "-c", `seq 100000 >&2; printf 'duckdb: \033[31mlocked\n' >&2; exit 3`}})
	err := apply(t, s, testBatch(4))
	if !errcode.Has(err, errcode.CommandFailed) {
		t.Fatal(err)
	}
	text := err.Error()
	for _, want := range []string{"batch 4 of query q-1", "exit status 3", "\n  | 100000\n", "\n  | duckdb: �[31mlocked"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text[max(0, len(text)-300):])
		}
	}
	if len(text) > 3*tailBytes || strings.Contains(text, "\033") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestASignalIsAnErrorToo(t *testing.T) {
	s, _ := fixture(t, Config{Command: []string{"sh", "-c", "kill -9 $$"}})
	if err := apply(t, s, testBatch(0)); !errcode.Has(err, errcode.CommandFailed) || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

func TestAMissingProgramIsFoundBeforeAnythingIsClaimed(t *testing.T) {
	for _, command := range []string{"no-such-program-of-microbatch", "./missing", "/missing/too"} {
		s, err := New(Config{Command: []string{command}})
		must(t, err)
		if err := s.Check(t.Context(), schema); !errcode.Has(err, errcode.CommandMissing) || !strings.Contains(err.Error(), command) {
			t.Errorf("%s: %v", command, err)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\n"), 0o755))
	s, err := New(Config{Command: []string{"./here"}, Dir: dir})
	must(t, err)
	must(t, s.Check(t.Context(), schema))
}

func TestAProgramThatTakesTooLongIsEndedWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	s, _ := fixture(t, Config{Command: []string{"sh", "-c", "sleep 1000 & echo $! > child; wait"}, Dir: dir, Timeout: 300 * time.Millisecond})
	if err := apply(t, s, testBatch(0)); !errcode.Has(err, errcode.CommandTimeout) || !strings.Contains(err.Error(), "300ms") {
		t.Error(err)
	}
	waitDead(t, filepath.Join(dir, "child"))
}

func TestTheEndOfTheQueryEndsTheProgramAndIsNoFaultOfIt(t *testing.T) {
	dir := t.TempDir()
	s, _ := fixture(t, Config{Command: []string{"sh", "-c", "sleep 1000 & echo $! > child.tmp; mv child.tmp child; wait"}, Dir: dir})
	p, err := s.Prepare(t.Context(), testBatch(0))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !exists(filepath.Join(dir, "child")) && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	_, err = s.Commit(ctx, p)
	if !errors.Is(err, context.Canceled) || errcode.ClassOf(err) != errcode.Stop {
		t.Error(err)
	}
	must(t, s.Abort(t.Context(), p))
	waitDead(t, filepath.Join(dir, "child"))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// waitDead waits for the process whose id stands in the file to be gone, or a zombie that nobody reaps.
func waitDead(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestANewerEpochIsNotOverrun(t *testing.T) {
	called := false
	s, _ := fixture(t, Config{Func: func(context.Context, Batch) error { called = true; return nil }})
	s.query.Newest = func(context.Context) (ident.Epoch, error) { return 4, nil }
	p, err := s.Prepare(t.Context(), testBatch(0))
	must(t, err)
	r, err := s.Commit(t.Context(), p)
	must(t, err)
	if r.Outcome != sinks.Fenced || called {
		t.Error(r, called)
	}
	must(t, s.Abort(t.Context(), p))
}

func TestItSaysThatItKeepsNoBatchesAndPromisesAtLeastOnce(t *testing.T) {
	s, _ := fixture(t, Config{Func: func(context.Context, Batch) error { return nil }})
	v, err := s.Visible(t.Context(), s.query)
	must(t, err)
	if g := s.Guarantee(); v.Keeps || g.Level != guarantee.AtLeastOnce || !strings.Contains(g.Remedy, "transaction") {
		t.Error(v, g)
	}
}

func TestConfigurationFaultsAreListedAtOnce(t *testing.T) {
	_, err := New(Config{Timeout: -1})
	if err == nil || !strings.Contains(err.Error(), "exactly one") || !strings.Contains(err.Error(), "timeout") {
		t.Error(err)
	}
}

// TestAFailedCallLeavesNoOpenFile: the engine spools the batch again before it passes it again, and does not abort what it has tried to commit.
func TestAFailedCallLeavesNoOpenFile(t *testing.T) {
	s, alloc := fixture(t, Config{Func: func(context.Context, Batch) error { return errors.New("no") }})
	p, err := s.Prepare(t.Context(), testBatch(0, part(alloc, 0, 5, nil)))
	must(t, err)
	if _, err := s.Commit(t.Context(), p); !errcode.Has(err, errcode.ForeachFailed) {
		t.Errorf("commit: %v", err)
	}
	if _, err := p.(*pending).batch.spool.file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the spool is open: %v", err)
	}
	must(t, s.Abort(t.Context(), p)) // does nothing more
}

// TestABatchThatIsGivenUpLeavesNoOpenFile: whether its rejected rows are visible cannot be said, so the engine reads the truth and goes on; it neither commits nor aborts
// what it has staged for this sink.
func TestABatchThatIsGivenUpLeavesNoOpenFile(t *testing.T) {
	for name, next := range map[string]func(s *Sink) error{
		"and recovered": func(s *Sink) error { return s.Recover(t.Context(), s.query, nil) },
		"at the end":    (*Sink).Close,
	} {
		t.Run(name, func(t *testing.T) {
			s, alloc := fixture(t, Config{Func: func(context.Context, Batch) error { return nil }})
			p, err := s.Prepare(t.Context(), testBatch(0, part(alloc, 0, 5, nil)))
			must(t, err)
			must(t, next(s))
			if _, err := p.(*pending).batch.spool.file.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the spool is open: %v", err)
			}
		})
	}
}

package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/checker"
	"microbatch/internal/sim/gate"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/sinks"
	"microbatch/sinks/filestage"
)

// Files is a folder of batches, on a disk of the machine that the query's processes run on.
type Files struct{ disk *crashfs.FS }

// NewFiles is an empty folder.
func NewFiles() *Files { return &Files{crashfs.New()} }

// Clone is a second folder; the same of it is unsynced.
func (f *Files) Clone() Target { return &Files{f.disk.Clone()} }

// Gone changes nothing: a disk has no connections.
func (*Files) Gone(string) {}

// Sink makes files of ids, one a line.
func (f *Files) Sink(p *gate.Process) sinks.Sink {
	s, err := filestage.New(filestage.Config{
		FS: p.Disk(Output, f.disk), Format: "lines", Extension: "txt",
		NewFile: func(w io.Writer, _ *arrow.Schema) (filestage.File, error) { return idFile{w}, nil },
	})
	if err != nil {
		panic(fmt.Sprintf("world: %v", err)) // a mistake of the test
	}
	return s
}

// idFile is a file of the ids of rows.
type idFile struct{ io.Writer }

func (f idFile) Write(rows arrow.RecordBatch) error {
	ids := rows.Column(0).(*array.String)
	for i := range ids.Len() {
		if _, err := fmt.Fprintln(f.Writer, ids.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

func (idFile) Close() error { return nil }

// Rows are the lines of all files of all batches.
func (f *Files) Rows(context.Context) ([]string, error) {
	var out []string
	for _, name := range glob(f.disk, "batch-*", "*.txt") {
		text, err := readFile(f.disk, name)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.Fields(string(text))...)
	}
	return out, nil
}

// Staged is what attempts have left that are not visible, and did not remove.
func (f *Files) Staged() []string {
	return slices.Concat(glob(f.disk, "_microbatch", "*", "staging", "*", "*"), glob(f.disk, "_microbatch", "*", "staging", "gone-*"))
}

// batchRecord is what a batch says of itself, in its folder and in the ledger.
type batchRecord struct {
	Query  string `json:"query"`
	Batch  int64  `json:"batch"`
	Epoch  int64  `json:"epoch"`
	Digest string `json:"digest"`
}

// Position is what the records say, and which epochs have their ground.
func (f *Files) Position(_ context.Context, query string) (checker.Position, error) {
	at := checker.Position{Keeps: true, Batch: -1}
	for _, name := range slices.Concat(glob(f.disk, "batch-*", "_batch.json"), glob(f.disk, "_microbatch", "*", "ledger", "*.json")) {
		var r batchRecord
		if err := readJSON(f.disk, name, &r); err != nil {
			return at, err
		}
		if r.Query != query {
			continue
		}
		if at.Epoch = max(at.Epoch, r.Epoch); r.Batch > at.Batch {
			at.Batch, at.Digest = r.Batch, r.Digest
		}
	}
	for _, name := range glob(f.disk, "_microbatch", "*", "query.json") {
		var owner batchRecord
		if err := readJSON(f.disk, name, &owner); err != nil {
			return at, err
		}
		if owner.Query != query {
			continue
		}
		for _, ground := range glob(f.disk, "_microbatch", path.Base(path.Dir(name)), "staging", "*") {
			if epoch, err := strconv.ParseInt(path.Base(ground), 10, 64); err == nil {
				at.Epoch = max(at.Epoch, epoch)
			}
		}
	}
	return at, nil
}

// glob are the names that match, element by element, in order.
func glob(disk localfs.FS, patterns ...string) []string {
	found := []string{"."}
	for _, pattern := range patterns {
		var next []string
		for _, dir := range found {
			entries, _ := disk.ReadDir(dir) // what is not a folder has no names in it
			for _, e := range entries {
				if ok, _ := path.Match(pattern, e.Name()); ok {
					next = append(next, path.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	return found
}

func readJSON(disk localfs.FS, name string, into any) error {
	text, err := readFile(disk, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readFile(disk localfs.FS, name string) ([]byte, error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var info fs.FileInfo
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text, nil
}

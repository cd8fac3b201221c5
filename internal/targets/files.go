package targets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"microbatch/checker"
	"microbatch/internal/errcode"
)

// Files is a folder that a query writes to, a folder for each batch.
type Files struct {
	unread
	Dir   string
	Shard string // "" unless the query is split
}

// record is what the ledger, and a batch's folder, say of a batch.
type record struct {
	Batch  int64  `json:"batch"`
	Epoch  int64  `json:"epoch"`
	Digest string `json:"digest"`
	Rows   int64  `json:"rows"`
	Files  []struct {
		Name  string `json:"name"`
		Rows  int64  `json:"rows"`
		Bytes int64  `json:"bytes"`
	} `json:"files"`
}

// hash is how names tell queries apart.
func (f Files) hash(query string) string {
	sum := sha256.Sum256([]byte(query + "\x00" + f.Shard))
	return hex.EncodeToString(sum[:8])
}

func (f Files) home(query string) string { return filepath.Join(f.Dir, "_microbatch", f.hash(query)) }

// Position is the newest batch that has a folder or stands in the ledger: the ledger may lack it after a crash, and readers may have deleted the folder.
func (f Files) Position(_ context.Context, query string) (at checker.Position, err error) {
	for range 3 { // what was listed may be gone when it is read: a running query makes the next, and readers delete
		if at, err = f.newest(query); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nowhere, err
	}
	epochs, err := numbered(filepath.Join(f.home(query), "staging"), "", "")
	for _, e := range epochs {
		at.Epoch = max(at.Epoch, e)
	}
	return at, err
}

// newest is the position without its epoch.
func (f Files) newest(query string) (checker.Position, error) {
	all, err := f.batches(query)
	if err != nil || len(all) == 0 {
		return nowhere, err
	}
	newest := slices.Max(slices.Collect(maps.Keys(all)))
	name := f.entry(query, newest)
	if !all[newest].listed {
		name = filepath.Join(f.folder(query, newest), "_batch.json")
	}
	r, err := readRecord(name)
	if err != nil {
		return nowhere, errcode.FileStageDamaged.Wrap(err, name, "")
	}
	if r.Batch != newest {
		return nowhere, errcode.FileStageDamaged.New(name, "it is the record of batch %d", r.Batch)
	}
	return checker.Position{Keeps: true, Batch: r.Batch, Digest: r.Digest, Epoch: r.Epoch}, nil
}

// trace is where a batch has left something.
type trace struct{ folder, listed bool }

// batches are all batches that have left something.
func (f Files) batches(query string) (map[int64]trace, error) {
	folders, err := numbered(f.Dir, "batch-", "-"+f.hash(query))
	if err != nil {
		return nil, err
	}
	listed, err := numbered(filepath.Join(f.home(query), "ledger"), "", ".json")
	out := map[int64]trace{}
	for _, id := range folders {
		out[id] = trace{folder: true}
	}
	for _, id := range listed {
		out[id] = trace{out[id].folder, true}
	}
	return out, err
}

func (f Files) folder(query string, batch int64) string {
	return filepath.Join(f.Dir, fmt.Sprintf("batch-%012d-%s", batch, f.hash(query)))
}

func (f Files) entry(query string, batch int64) string {
	return filepath.Join(f.home(query), "ledger", fmt.Sprintf("%012d.json", batch))
}

// Batches are those that have a folder or stand in the ledger. A folder is whole: its record is that of the ledger, and its files are there, as long as it says.
func (f Files) Batches(ctx context.Context, query string, progress func(what string, done, all int64)) ([]checker.Kept, error) {
	all, err := f.batches(query)
	if err != nil {
		return nil, err
	}
	var out []checker.Kept
	for n, id := range slices.Sorted(maps.Keys(all)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress("batches", int64(n), int64(len(all)))
		}
		if k, there := f.kept(query, id, all[id]); there {
			out = append(out, k)
		}
	}
	return out, nil
}

// kept looks at one batch. It is not there if what was listed of it is gone meanwhile: the ledger forgets the oldest, and readers delete folders.
func (f Files) kept(query string, id int64, has trace) (k checker.Kept, there bool) {
	folder, entry := f.folder(query, id), f.entry(query, id)
	k = checker.Kept{Position: checker.Position{Keeps: true, Batch: id}, Rows: -1}
	fault := func(format string, args ...any) { k.Faults = append(k.Faults, fmt.Sprintf(format, args...)) }
	var listed, own record
	var err error
	if has.listed {
		k.Place = entry
		if listed, err = readRecord(entry); errors.Is(err, fs.ErrNotExist) {
			has.listed = false
		} else if err != nil {
			fault("the record of batch %d in the ledger cannot be read: %v", id, err)
			return k, true
		}
	}
	if has.folder {
		k.Place = folder
		if own, err = readRecord(filepath.Join(folder, "_batch.json")); err != nil && gone(folder) {
			has.folder = false
		} else if err != nil {
			fault("its record _batch.json cannot be read: %v", err)
			return k, true
		}
	}
	r := own
	switch {
	case !has.listed && !has.folder:
		return k, false
	case !has.folder:
		r = listed
	case has.listed && fmt.Sprint(own) != fmt.Sprint(listed):
		fault("its record is not that of the ledger")
	}
	k.Digest, k.Epoch, k.Rows, k.Listed = r.Digest, r.Epoch, r.Rows, has.listed
	if r.Batch != id {
		fault("it holds the record of batch %d", r.Batch)
	}
	if has.folder {
		k.Faults = append(k.Faults, filesOf(folder, r)...)
	}
	return k, true
}

// filesOf compares the files of a batch's folder with its record. What begins with _ or . is no data. A folder that is gone has no faults.
func filesOf(folder string, r record) (faults []string) {
	entries, err := os.ReadDir(folder)
	if err != nil && !gone(folder) {
		return []string{fmt.Sprintf("it cannot be read: %v", err)}
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it has just been deleted, and is missing
		}
		if !strings.HasPrefix(e.Name(), "_") && !strings.HasPrefix(e.Name(), ".") {
			sizes[e.Name()] = info.Size()
		}
	}
	rows := int64(0)
	for _, file := range r.Files {
		rows += file.Rows
		switch size, ok := sizes[file.Name]; {
		case !ok:
			faults = append(faults, fmt.Sprintf("file %s is missing", file.Name))
		case size != file.Bytes:
			faults = append(faults, fmt.Sprintf("file %s is %d bytes long, its record says %d", file.Name, size, file.Bytes))
		}
		delete(sizes, file.Name)
	}
	for name := range sizes {
		faults = append(faults, fmt.Sprintf("file %s is no part of the batch", name))
	}
	if rows != r.Rows {
		faults = append(faults, fmt.Sprintf("its record says %d rows, and %d of its files", r.Rows, rows))
	}
	if gone(folder) { // a reader has deleted it while we looked
		return nil
	}
	slices.Sort(faults)
	return faults
}

func gone(folder string) bool {
	_, err := os.Stat(folder)
	return errors.Is(err, fs.ErrNotExist)
}

func readRecord(name string) (r record, err error) {
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// numbered are the numbers in the names of a folder that begin and end so; none if it does not exist.
func numbered(dir, begin, end string) (out []int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), begin)
		if ok {
			digits, ok = strings.CutSuffix(digits, end)
		}
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && n >= 0 {
			out = append(out, n)
		}
	}
	return out, nil
}

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
func (f Files) Position(_ context.Context, query string) (checker.Position, error) {
	all, err := f.batches(query)
	if err != nil {
		return nowhere, err
	}
	at := nowhere
	if len(all) > 0 {
		newest := slices.Max(slices.Collect(maps.Keys(all)))
		name := f.entry(query, newest)
		if !all[newest].listed {
			name = filepath.Join(f.folder(query, newest), "_batch.json")
		}
		r, err := readRecord(name)
		if err != nil {
			return nowhere, errcode.FileStageDamaged.Wrap(err, name, "")
		}
		at = checker.Position{Keeps: true, Batch: r.Batch, Digest: r.Digest, Epoch: r.Epoch}
		if r.Batch != newest {
			return nowhere, errcode.FileStageDamaged.New(name, "it is the record of batch %d", r.Batch)
		}
	}
	epochs, err := numbered(filepath.Join(f.home(query), "staging"), "", "")
	for _, e := range epochs {
		at.Epoch = max(at.Epoch, e)
	}
	return at, err
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
		out = append(out, f.kept(query, id, all[id]))
	}
	return out, nil
}

// kept looks at one batch.
func (f Files) kept(query string, id int64, has trace) checker.Kept {
	folder, entry := f.folder(query, id), f.entry(query, id)
	k := checker.Kept{Position: checker.Position{Keeps: true, Batch: id}, Place: folder, Rows: -1, Listed: has.listed}
	fault := func(format string, args ...any) { k.Faults = append(k.Faults, fmt.Sprintf(format, args...)) }
	var r record
	var err error
	if has.listed {
		k.Place = entry
		if r, err = readRecord(entry); err != nil {
			fault("the record of batch %d in the ledger cannot be read: %v", id, err)
			return k
		}
	}
	if has.folder {
		k.Place = folder
		own, err := readRecord(filepath.Join(folder, "_batch.json"))
		switch {
		case errors.Is(err, fs.ErrNotExist) && has.listed && gone(folder): // deleted by a reader while we looked
			has.folder = false
		case err != nil:
			fault("its record _batch.json cannot be read: %v", err)
			return k
		case has.listed && fmt.Sprint(own) != fmt.Sprint(r):
			fault("its record is not that of the ledger")
		}
		if has.folder {
			r = own
		}
	}
	k.Digest, k.Epoch, k.Rows = r.Digest, r.Epoch, r.Rows
	if r.Batch != id {
		fault("it holds the record of batch %d", r.Batch)
	}
	if !has.folder {
		return k
	}
	faults, err := filesOf(folder, r)
	if gone(folder) {
		return k
	}
	if err != nil {
		fault("it cannot be read: %v", err)
	}
	k.Faults = append(k.Faults, faults...)
	return k
}

// filesOf compares the files of a batch's folder with its record. What begins with _ or . is no data.
func filesOf(folder string, r record) (faults []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
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
	slices.Sort(faults)
	return faults, nil
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

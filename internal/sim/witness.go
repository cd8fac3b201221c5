package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"microbatch/objstore"
)

// witness reads a table as an outsider, version by version, and knows what must be in it.
type witness struct {
	place   string
	store   func() objstore.Store
	dir     string
	next    int64               // the version to read
	live    map[string][]string // rows by file
	batch   int64               // the newest of ours, -1: none
	epoch   int64
	foreign int // rows that foreign writers have added, less those they have deleted
	batches map[int64]landed
	stamped map[int64]string    // bytes of the entries of the log
	known   map[string][]string // rows of every file that was ever live

	replaces bool  // batches may take rows out
	totals   bool  // batches are visited with the whole table
	was      int64 // the newest of ours before the one that is visited
}

// landed is a batch as the table holds it.
type landed struct {
	version int64
	text    string   // of offsets/<id>
	rows    []string // of its files
	// With totals: the rows of the table.
	before, after []string
}

func newWitness(place, format string, store func() objstore.Store) *witness {
	w := &witness{place: place, store: store, dir: "_metadata/_", known: map[string][]string{}}
	if format == "delta" {
		w.dir = "_delta_log/"
	}
	w.forget()
	return w
}

func (w *witness) forget() {
	w.next, w.batch, w.epoch, w.foreign = 0, -1, 0, 0
	w.live, w.batches, w.stamped = map[string][]string{}, map[int64]landed{}, map[int64]string{}
}

func (w *witness) key(v int64) string { return fmt.Sprintf("%s%020d.json", w.dir, v) }

// line is an action as far as the witness cares.
type line struct {
	Add *struct {
		Path            string             `json:"path"`
		PartitionValues map[string]*string `json:"partitionValues"`
		DataChange      bool               `json:"dataChange"`
	} `json:"add"`
	Remove *struct {
		Path string `json:"path"`
	} `json:"remove"`
	Txn *struct {
		AppID   string `json:"appId"`
		Version int64  `json:"version"`
	} `json:"txn"`
	CommitInfo *struct {
		Operation string `json:"operation"`
		Ours      *struct {
			Offsets string `json:"offsets"`
		} `json:"microbatch"`
	} `json:"commitInfo"`
}

func parseLines(data []byte) (out []line, err error) {
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// advance reads the versions that are new, and calls visit for each batch among them.
func (w *witness) advance(visit func(id int64, b landed) error) error {
	for {
		data, err := w.store().Get(context.Background(), w.key(w.next))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = w.read(data, visit)
		}
		if err != nil {
			return fmt.Errorf("%s version %d: %w", w.place, w.next, err)
		}
		w.stamped[w.next] = string(data)
		w.next++
	}
}

func (w *witness) read(data []byte, visit func(int64, landed) error) error {
	lines, err := parseLines(data)
	if err != nil {
		return err
	}
	b, id, operation := landed{version: w.next}, int64(-1), ""
	var removed []string
	if w.totals {
		b.before = w.all()
	}
	for _, l := range lines {
		switch {
		case l.Add != nil:
			if w.live[l.Add.Path] != nil {
				return fmt.Errorf("it adds %s a second time", l.Add.Path)
			}
			rows := w.known[l.Add.Path]
			if rows == nil {
				if rows, err = w.rows(l.Add.Path, l.Add.PartitionValues); err != nil {
					return fmt.Errorf("%s: %w", l.Add.Path, err)
				}
				w.known[l.Add.Path] = rows
			}
			w.live[l.Add.Path] = rows
			b.rows = append(b.rows, rows...)
		case l.Remove != nil:
			rows, ok := w.live[l.Remove.Path]
			if !ok {
				return fmt.Errorf("it removes %s, which is not live", l.Remove.Path)
			}
			removed = append(removed, rows...)
			delete(w.live, l.Remove.Path)
		case l.Txn != nil && strings.HasSuffix(l.Txn.AppID, "#epoch"):
			if l.Txn.Version < w.epoch {
				return fmt.Errorf("the epoch goes back from %d to %d", w.epoch, l.Txn.Version)
			}
			w.epoch = l.Txn.Version
		case l.Txn != nil && !strings.Contains(l.Txn.AppID, "#") && !strings.HasPrefix(l.Txn.AppID, "microbatch/"):
			id = l.Txn.Version
		case l.CommitInfo != nil:
			operation = l.CommitInfo.Operation
			if l.CommitInfo.Ours != nil {
				b.text = l.CommitInfo.Ours.Offsets
			}
		}
	}
	slices.Sort(b.rows)
	slices.Sort(removed)
	if id < 0 {
		if operation == foreignOperation {
			w.foreign += len(b.rows) - len(removed)
			return nil
		}
		if !slices.Equal(b.rows, removed) {
			return fmt.Errorf("%s changes the rows: %d before, %d after", operation, len(removed), len(b.rows))
		}
		return nil
	}
	if len(removed) > 0 && !w.replaces {
		return fmt.Errorf("batch %d removes rows", id)
	}
	if w.totals {
		b.after = w.all()
	}
	w.was, w.batch, w.batches[id] = w.batch, id, landed{version: b.version, text: b.text, rows: b.rows}
	return visit(id, b)
}

// powerLost looks what has survived: the newest entries may be gone if they were not durable, and what they say with them.
func (w *witness) powerLost() error {
	newest := int64(-1)
	for v := range w.stamped {
		data, err := w.store().Get(context.Background(), w.key(v))
		if err == nil && string(data) == w.stamped[v] {
			newest = max(newest, v)
		}
	}
	if newest < w.next-1 {
		old := w.stamped
		w.forget()
		for ; w.next <= newest; w.next++ {
			if err := w.read([]byte(old[w.next]), func(int64, landed) error { return nil }); err != nil {
				return err
			}
			w.stamped[w.next] = old[w.next]
		}
	}
	return w.whole()
}

// whole makes sure that every live file is there.
func (w *witness) whole() error {
	for path := range w.live {
		key, err := url.PathUnescape(path)
		if err != nil {
			return err
		}
		if _, err := w.store().Stat(context.Background(), key); err != nil {
			return fmt.Errorf("%s version %d: live file: %w", w.place, w.next-1, err)
		}
	}
	return nil
}

// unchanged makes sure that entries of the log that are still there are what they were.
func (w *witness) unchanged() error {
	for v, was := range w.stamped {
		data, err := w.store().Get(context.Background(), w.key(v))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && string(data) != was {
			return fmt.Errorf("%s version %d has changed", w.place, v)
		}
	}
	return nil
}

// count is the number of live rows.
func (w *witness) count() (n int) {
	for rows := range maps.Values(w.live) {
		n += len(rows)
	}
	return n
}

// all are the live rows, sorted.
func (w *witness) all() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for rows := range maps.Values(w.live) {
			for _, r := range rows {
				if !yield(r) {
					return
				}
			}
		}
	})
}

// rows reads a data file.
func (w *witness) rows(path string, partition map[string]*string) ([]string, error) {
	key, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	data, err := w.store().Get(context.Background(), key)
	if err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, column := range f.Schema().Columns() {
		names = append(names, strings.Join(column, "."))
	}
	out := []string{}
	for _, group := range f.RowGroups() {
		if out, err = w.readGroup(group, names, partition, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *witness) readGroup(group parquet.RowGroup, names []string, partition map[string]*string, out []string) ([]string, error) {
	rows := group.Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, values := range buffer[:n] {
			r := row{}
			for _, v := range values {
				if !v.IsNull() {
					r[names[v.Column()]] = text(v)
				}
			}
			for name, v := range partition {
				if v != nil {
					r[name] = *v
				}
			}
			if w.place == "rejected" {
				out = append(out, r["position"])
			} else {
				out = append(out, r.String())
			}
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func text(v parquet.Value) string {
	switch v.Kind() {
	case parquet.Int32:
		return strconv.Itoa(int(v.Int32()))
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.ByteArray:
		return string(v.ByteArray())
	}
	return v.String()
}

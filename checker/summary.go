package checker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"microbatch/objstore"
)

// readSummary reads a log checkpoint, which may be in several files: the state that it sums up.
func readSummary(ctx context.Context, store objstore.Store, format Format, version int64, keys []string) (*state, error) {
	s := newState()
	s.version = version
	var sidecars []string
	for _, key := range keys {
		more, err := readSummaryFile(ctx, store, key, s)
		if err != nil && len(keys) > 1 {
			err = fmt.Errorf("part %s: %w", key, err)
		}
		if err != nil {
			return nil, err
		}
		sidecars = append(sidecars, more...)
	}
	for _, path := range sidecars {
		key, err := keyOf(path)
		if err == nil {
			_, err = readSummaryFile(ctx, store, format.dir()+"_sidecars/"+key, s)
		}
		if err != nil {
			return nil, fmt.Errorf("sidecar %s: %w", path, err)
		}
	}
	return s, nil
}

func readSummaryFile(ctx context.Context, store objstore.Store, key string, s *state) (sidecars []string, err error) {
	object, err := store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	watched := &watched{Object: object}
	defer func() { err = watched.blame(err) }()
	if strings.HasSuffix(key, ".json") {
		return readJSONSummary(io.NewSectionReader(watched, 0, object.Size()), s)
	}
	return readParquetSummary(watched, s)
}

// readJSONSummary reads a line for each action. Ours tells in a tag of its first line how many there are.
func readJSONSummary(r io.Reader, s *state) (sidecars []string, err error) {
	in, lines, want := bufio.NewReaderSize(r, 1<<18), 0, -1
	for {
		text, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			lines++
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				return nil, fmt.Errorf("line %d: %w", lines, err)
			}
			if m := l.CheckpointMetadata; m != nil && m.Tags["microbatch.lines"] != "" {
				n, err := strconv.Atoi(m.Tags["microbatch.lines"])
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", lines, err)
				}
				want = n
			}
			if l.Sidecar != nil {
				sidecars = append(sidecars, l.Sidecar.Path)
			}
			if err := s.takeSummary(&l); err != nil {
				return nil, fmt.Errorf("line %d: %w", lines, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if want >= 0 && lines != want {
		return nil, fmt.Errorf("it has %d lines and should have %d", lines, want)
	}
	return sidecars, nil
}

func (s *state) takeSummary(l *line) error {
	switch {
	case l.Metadata != nil:
		s.tableID = l.Metadata.ID
	case l.Txn != nil:
		s.setTxn(l.Txn.AppID, l.Txn.Version)
	case l.Remove != nil:
		s.gone[l.Remove.Path] = true
	case l.Add != nil:
		f := l.Add.file()
		if _, ok := s.live[f.id()]; ok {
			return fmt.Errorf("%s is added twice", f.Path)
		}
		s.add(f)
	}
	return nil
}

// readParquetSummary reads a row for each action: one column of structs per kind, null in all but one. Only leaves that do not repeat are read, so the partition
// values of files that are known from a Parquet checkpoint alone are not known.
func readParquetSummary(object objstore.Object, s *state) (sidecars []string, err error) {
	defer recoverParquet(&err)
	f, err := parquet.OpenFile(object, object.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	if err := claims(f.NumRows(), f.Size(), 1); err != nil { // an action takes more than a byte
		return nil, err
	}
	for _, group := range f.RowGroups() {
		c := leaves{group: group, rows: group.NumRows()}
		app, appVersion, table, sidecar := c.strings("txn", "appId"), c.numbers("txn", "version"), c.strings("metaData", "id"), c.strings("sidecar", "path")
		removed := c.strings("remove", "path")
		path, size, stats := c.strings("add", "path"), c.numbers("add", "size"), c.strings("add", "stats")
		storage, vector := c.strings("add", "deletionVector", "storageType"), c.strings("add", "deletionVector", "pathOrInlineDv")
		offset, hidden := c.numbers("add", "deletionVector", "offset"), c.numbers("add", "deletionVector", "cardinality")
		if c.err != nil {
			return nil, c.err
		}
		for i := range c.rows {
			var l line
			switch {
			case app.at(i) != "":
				s.setTxn(app.at(i), appVersion.at(i))
			case table.at(i) != "":
				s.tableID = table.at(i)
			case sidecar.at(i) != "":
				sidecars = append(sidecars, sidecar.at(i))
			case removed.at(i) != "":
				s.gone[removed.at(i)] = true
			case path.at(i) != "":
				l.Add = &fileLine{Path: path.at(i), Size: new(size.at(i)), Stats: stats.at(i)}
				if storage.at(i) != "" {
					l.Add.Vector = &vectorLine{Storage: storage.at(i), Path: vector.at(i), Offset: offset.maybe(i), Cardinality: hidden.at(i)}
				}
				if err := s.takeSummary(&l); err != nil {
					return nil, err
				}
			}
		}
	}
	return sidecars, nil
}

// leaves reads leaf columns of a row group whole. The first error stays.
type leaves struct {
	group parquet.RowGroup
	rows  int64
	err   error
}

// leaf are the values of a column, one per row; none if the file lacks the column.
type leaf[T any] []*T

func (l leaf[T]) at(i int64) (v T) {
	if i < int64(len(l)) && l[i] != nil {
		v = *l[i]
	}
	return v
}

func (l leaf[T]) maybe(i int64) *T {
	if i < int64(len(l)) {
		return l[i]
	}
	return nil
}

func (c *leaves) strings(path ...string) leaf[string] {
	return readLeaf(c, path, func(v parquet.Value) string { return string(v.ByteArray()) })
}

func (c *leaves) numbers(path ...string) leaf[int64] {
	return readLeaf(c, path, func(v parquet.Value) int64 {
		if v.Kind() == parquet.Int32 {
			return int64(v.Int32())
		}
		return v.Int64()
	})
}

func readLeaf[T any](c *leaves, path []string, of func(parquet.Value) T) (out leaf[T]) {
	column, ok := c.group.Schema().Lookup(path...)
	if !ok || c.err != nil {
		return nil
	}
	c.err = eachValue(c.group.ColumnChunks()[column.ColumnIndex], func(v parquet.Value) {
		if int64(len(out)) > c.rows {
			return
		}
		if v.IsNull() {
			out = append(out, nil)
			return
		}
		out = append(out, new(of(v)))
	})
	if c.err == nil && int64(len(out)) != c.rows {
		c.err = fmt.Errorf("column %s has %d values in %d rows", strings.Join(path, "."), len(out), c.rows)
	}
	return slices.Clip(out)
}

package checker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/parquet-go/parquet-go"

	"microbatch/objstore"
)

// errVector says that rows are hidden by a deletion vector, which is not read here.
var errVector = errors.New("a deletion vector hides some of its rows")

// unreadable is a file whose bytes are wrong, as against one that cannot be had now.
type unreadable struct{ error }

func isUnreadable(err error) bool {
	_, ok := errors.AsType[unreadable](err)
	return ok
}

// watched remembers that bytes could not be had.
type watched struct {
	objstore.Object
	mu  sync.Mutex
	err error
}

// ReadAt reads. A place outside the object is what damaged bytes have asked for.
func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at > w.Size() {
		return 0, fmt.Errorf("the file has %d bytes, none at %d", w.Size(), at)
	}
	n, err := w.Object.ReadAt(p, at)
	if err != nil && err != io.EOF {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
	return n, err
}

// blame tells whose fault an error is: the way's to the bytes, which stays as it is, or the bytes'.
func (w *watched) blame(err error) error {
	if err == nil || w.err != nil || errors.Is(err, errVector) {
		return err
	}
	return unreadable{err}
}

// recoverParquet turns a panic of the Parquet library over hostile bytes into an error.
func recoverParquet(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("not a sound Parquet file: %v", p)
	}
}

// openFile opens a data file and hands its reader to use.
func openFile(ctx context.Context, store objstore.Store, key string, use func(*parquet.File) error) (err error) {
	object, err := store.Open(ctx, key)
	if err != nil {
		return err
	}
	defer object.Close()
	w := &watched{Object: object}
	defer func() { err = w.blame(err) }()
	defer recoverParquet(&err)
	f, err := parquet.OpenFile(w, object.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	return use(f)
}

// rowsPerByte bounds how many rows a file may claim: a column of numbers that rise evenly takes very little, but not nothing.
const rowsPerByte = 1024

// claims returns an error for a file that claims more rows than it can hold, before memory is taken for them.
func claims(rows, size, perByte int64) error {
	if rows < 0 || rows/perByte > size {
		return fmt.Errorf("it claims %d rows in %d bytes", rows, size)
	}
	return nil
}

// countRows is the number of rows that a data file's footer tells.
func countRows(ctx context.Context, store objstore.Store, key string) (n int64, err error) {
	err = openFile(ctx, store, key, func(f *parquet.File) error {
		n = f.NumRows()
		return nil
	})
	return n, err
}

// readIDs are the ids of a data file's rows: the values of the columns joined by "/".
func readIDs(ctx context.Context, store objstore.Store, file *File, columns []string) (ids []string, err error) {
	if file.Vector != "" {
		return nil, errVector
	}
	err = openFile(ctx, store, file.Key, func(f *parquet.File) error {
		if err := claims(f.NumRows(), f.Size(), rowsPerByte); err != nil {
			return err
		}
		ids = make([]string, f.NumRows())
		first := 0
		for _, group := range f.RowGroups() {
			if n := group.NumRows(); n < 0 || n > int64(len(ids)-first) {
				return fmt.Errorf("its row groups hold more than the %d rows of its footer", len(ids))
			}
			rows := ids[first : first+int(group.NumRows())]
			for n, name := range columns {
				if err := appendColumn(rows, group, file, name, n > 0); err != nil {
					return err
				}
			}
			first += len(rows)
		}
		return nil
	})
	return ids, err
}

// appendColumn puts a column's values behind the ids of a row group's rows.
func appendColumn(ids []string, group parquet.RowGroup, file *File, name string, joined bool) error {
	sep := ""
	if joined {
		sep = "/"
	}
	column, ok := group.Schema().Lookup(name)
	if !ok {
		text := ""
		if v, known := file.Partitions[name]; !known {
			return fmt.Errorf("it has no column %s", name)
		} else if v != nil {
			text = *v
		}
		for i := range ids {
			ids[i] += sep + text
		}
		return nil
	}
	i := 0
	err := eachValue(group.ColumnChunks()[column.ColumnIndex], func(v parquet.Value) {
		if i < len(ids) {
			ids[i] += sep + textOf(v)
		}
		i++
	})
	if err == nil && i != len(ids) {
		err = fmt.Errorf("column %s has %d values in %d rows", name, i, len(ids))
	}
	return err
}

func textOf(v parquet.Value) string {
	if v.IsNull() {
		return ""
	}
	switch v.Kind() {
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return string(v.ByteArray())
	}
	return v.String()
}

// eachValue shows the values of a column of a row group, one page in memory at a time.
func eachValue(chunk parquet.ColumnChunk, see func(parquet.Value)) error {
	pages := chunk.Pages()
	defer pages.Close()
	buffer := make([]parquet.Value, 1024)
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		values := page.Values()
		for {
			n, err := values.ReadValues(buffer)
			for _, v := range buffer[:n] {
				see(v)
			}
			if err == io.EOF || n == 0 && err == nil {
				break
			}
			if err != nil {
				parquet.Release(page)
				return err
			}
		}
		parquet.Release(page)
	}
}

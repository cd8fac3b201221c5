package checker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"microbatch/objstore"
)

// Format is the dress of a table's log.
type Format string

// The formats.
const (
	Parquet Format = "parquet" // _metadata/_<version>.json
	Delta   Format = "delta"   // _delta_log/<version>.json
)

func (f Format) dir() string {
	if f == Delta {
		return "_delta_log/"
	}
	return "_metadata/"
}

// commitKey is the file of a version.
func (f Format) commitKey(v int64) string {
	if f == Delta {
		return fmt.Sprintf("_delta_log/%020d.json", v)
	}
	return fmt.Sprintf("_metadata/_%020d.json", v)
}

// Names in a log: a commit, and the forms of log checkpoints (classic or JSON; one of several parts; with a UUID and sidecars).
var (
	parquetName = regexp.MustCompile(`^_metadata/_(\d{20})(\.checkpoint)?\.json$`)
	deltaName   = regexp.MustCompile(`^_delta_log/(\d{20})(?:\.json|(\.checkpoint)(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json))$`)
)

// logName is a parsed file name.
type logName struct {
	version    int64
	checkpoint bool
	part, of   int // of a checkpoint in parts; 0 otherwise
}

func (f Format) parse(key string) (n logName, ok bool) {
	form := parquetName
	if f == Delta {
		form = deltaName
	}
	m := form.FindStringSubmatch(key)
	if m == nil {
		return n, false
	}
	v, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return n, false
	}
	n = logName{version: v, checkpoint: m[2] != ""}
	if len(m) > 3 && m[3] != "" {
		n.part, _ = strconv.Atoi(m[3]) // ten digits
		n.of, _ = strconv.Atoi(m[4])
	}
	return n, true
}

// errNoTable says that there is no log.
var errNoTable = errors.New("no table log")

// detect finds out which log a store holds.
func detect(ctx context.Context, store objstore.Store) (Format, error) {
	var found []Format
	for _, f := range []Format{Parquet, Delta} {
		for info, err := range store.List(ctx, f.dir(), "") {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("checker: list %s: %w", f.dir(), err)
			}
			if _, ok := f.parse(info.Key); ok {
				found = append(found, f)
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return "", errNoTable
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("checker: %s holds two logs, _metadata and _delta_log", store.URL())
}

package translog

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// Format is the dress of a log: where its files are and how they are named.
type Format string

// The formats.
const (
	Parquet Format = "parquet" // _metadata/_<v>.json: every *.parquet below the table is data
	Delta   Format = "delta"   // _delta_log/<v>.json: a Delta Lake table
)

// Dir is the log's directory below the table, with a slash.
func (f Format) Dir() string {
	if f == Delta {
		return "_delta_log/"
	}
	return "_metadata/"
}

// stem is what all log files of version v begin with.
func (f Format) stem(v int64) string {
	if f == Delta {
		return fmt.Sprintf("_delta_log/%020d", v)
	}
	return fmt.Sprintf("_metadata/_%020d", v)
}

// CommitKey is the key of version v's commit.
func (f Format) CommitKey(v int64) string { return f.stem(v) + ".json" }

// checkpointKey is the key under which our checkpoint of version v is written.
func (f Format) checkpointKey(v int64) string {
	if f == Delta {
		return f.stem(v) + ".checkpoint.parquet"
	}
	return f.stem(v) + ".checkpoint.json"
}

// lastCheckpoint is the key of Delta's hint.
const lastCheckpoint = "_delta_log/_last_checkpoint"

// fileKind is what a log file is.
type fileKind int

const (
	commitFile     fileKind = iota + 1
	checkpointFile          // whole: classic, or the top of a v2 checkpoint
	partFile                // one of several that make a checkpoint
	sideFile                // belongs to a version but says nothing of its own: .crc, compacted
)

// logFile is a parsed name.
type logFile struct {
	kind        fileKind
	version     int64
	part, parts int
	json        bool
	v2          bool
}

// parse reads the name of a file directly in the log's directory. ok is false for any other file.
func (f Format) parse(key string) (file logFile, ok bool) {
	name, ok := strings.CutPrefix(key, f.Dir())
	if ok && f == Parquet {
		name, ok = strings.CutPrefix(name, "_")
	}
	if !ok || len(name) < 21 || name[20] != '.' {
		return file, false
	}
	v, err := strconv.ParseInt(name[:20], 10, 64)
	if err != nil || name[0] == '+' || name[0] == '-' {
		return file, false
	}
	file.version = v
	rest := strings.Split(name[21:], ".")
	switch {
	case len(rest) == 1 && rest[0] == "json":
		file.kind = commitFile
	case len(rest) == 2 && rest[0] == "checkpoint" && (rest[1] == "parquet" && f == Delta || rest[1] == "json" && f == Parquet):
		file.kind, file.json = checkpointFile, rest[1] == "json"
	case f == Delta && len(rest) == 3 && rest[0] == "checkpoint" && (rest[2] == "json" || rest[2] == "parquet"):
		file.kind, file.json, file.v2 = checkpointFile, rest[2] == "json", true
	case f == Delta && len(rest) == 4 && rest[0] == "checkpoint" && rest[3] == "parquet":
		part, err1 := strconv.Atoi(rest[1])
		parts, err2 := strconv.Atoi(rest[2])
		if err1 != nil || err2 != nil || part < 1 || part > parts {
			return file, false
		}
		file.kind, file.part, file.parts = partFile, part, parts
	default:
		file.kind = sideFile
	}
	return file, true
}

// Detect finds the format of the table in a store. fs.ErrNotExist: there is no log.
func Detect(ctx context.Context, store objstore.Store) (Format, error) {
	var found []Format
	for _, f := range []Format{Parquet, Delta} {
		for info, err := range store.List(ctx, f.Dir(), "") {
			if err != nil {
				return "", fmt.Errorf("list %s: %w", f.Dir(), err)
			}
			if _, ok := f.parse(info.Key); ok {
				found = append(found, f)
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("table %s: no log: %w", store.URL(), fs.ErrNotExist)
	case 1:
		return found[0], nil
	}
	return "", errcode.TableFormat.New(store.URL(), "the directory holds both a _metadata and a _delta_log log")
}

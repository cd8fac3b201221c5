package checker

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// File is a data file as a log names it.
type File struct {
	Path       string // as it stands in the log
	Key        string // in the table's store; "" if the path leaves the table
	Size       int64  // bytes; -1 if the log does not say
	Rows       int64  // without those that a deletion vector hides; -1 if the log does not say
	DataChange bool
	Vector     string // identifies the deletion vector; "" without one
	Partitions map[string]*string
}

// fileID is what makes a file in a log: adds and removes of the same one cancel each other.
type fileID struct{ path, vector string }

func (f *File) id() fileID { return fileID{f.Path, f.Vector} }

// Committed is what a commit says in words about the batch it holds (commitInfo.microbatch).
type Committed struct {
	Pipeline string `json:"pipeline"`
	Query    string `json:"query"`
	Batch    *int64 `json:"batch"` // nil: the epoch alone
	Epoch    int64  `json:"epoch"`
	Entry    string `json:"entry"`
	Digest   string `json:"digest"`
	Offsets  string `json:"offsets"`
}

// Version is one version of a table as its log tells it.
type Version struct {
	Number        int64
	Sum           [sha256.Size]byte // of its bytes
	Adds, Removes []File
	Txns          map[string]int64 // by appId
	TableID       string           // of its metaData; "" if it has none
	Operation     string
	TxnID         string
	Metrics       map[string]string // operationMetrics
	Committed     *Committed        // nil if the commit is not one of this program's queries
}

// MovesOnly reports whether the version only moves rows between files.
func (v *Version) MovesOnly() bool {
	for _, f := range v.Adds {
		if f.DataChange {
			return false
		}
	}
	for _, f := range v.Removes {
		if f.DataChange {
			return false
		}
	}
	return len(v.Removes) > 0
}

// The lines of a log, as far as they matter here.
type (
	line struct {
		CommitInfo json.RawMessage `json:"commitInfo"`
		Protocol   json.RawMessage `json:"protocol"`
		Metadata   *struct {
			ID string `json:"id"`
		} `json:"metaData"`
		Txn *struct {
			AppID   string `json:"appId"`
			Version int64  `json:"version"`
		} `json:"txn"`
		Add     *fileLine `json:"add"`
		Remove  *fileLine `json:"remove"`
		Sidecar *struct {
			Path string `json:"path"`
		} `json:"sidecar"`
		CheckpointMetadata *struct {
			Tags map[string]string `json:"tags"`
		} `json:"checkpointMetadata"`
	}
	fileLine struct {
		Path       string             `json:"path"`
		Size       *int64             `json:"size"`
		DataChange bool               `json:"dataChange"`
		Stats      string             `json:"stats"`
		Partitions map[string]*string `json:"partitionValues"`
		Vector     *vectorLine        `json:"deletionVector"`
	}
	vectorLine struct {
		Storage     string `json:"storageType"`
		Path        string `json:"pathOrInlineDv"`
		Offset      *int64 `json:"offset"`
		Cardinality int64  `json:"cardinality"`
	}
	infoLine struct {
		Operation string            `json:"operation"`
		TxnID     string            `json:"txnId"`
		Metrics   map[string]string `json:"operationMetrics"`
		Committed *Committed        `json:"microbatch"`
	}
)

func (l *fileLine) file() File {
	f := File{Path: l.Path, Size: -1, Rows: -1, DataChange: l.DataChange, Partitions: l.Partitions}
	f.Key, _ = keyOf(l.Path) // "" is a violation of its own
	if l.Size != nil {
		f.Size = *l.Size
	}
	var stats struct {
		Rows *int64 `json:"numRecords"`
	}
	if l.Stats != "" && json.Unmarshal([]byte(l.Stats), &stats) == nil && stats.Rows != nil {
		f.Rows = *stats.Rows
	}
	if v := l.Vector; v != nil && v.Storage+v.Path != "" {
		f.Vector = v.Storage + v.Path
		if v.Offset != nil {
			f.Vector += fmt.Sprintf("@%d", *v.Offset)
		}
		if f.Rows >= 0 {
			f.Rows -= v.Cardinality
		}
	}
	return f
}

// keyOf is the key of a path in a log: URI text, relative to the table.
func keyOf(path string) (string, error) {
	key, err := url.PathUnescape(path)
	if err != nil {
		return "", err
	}
	if scheme, _, ok := strings.Cut(path, ":"); ok && !strings.ContainsAny(scheme, "/=%") || strings.HasPrefix(key, "/") {
		return "", fmt.Errorf("path %q is not relative", path)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return "", fmt.Errorf("path %q leaves the table", path)
		}
	}
	return key, nil
}

// parseCommit reads the bytes of a version. faults are things that an entry must not hold; an error means that it cannot be read.
func parseCommit(number int64, data []byte) (v *Version, faults []string, err error) {
	v = &Version{Number: number, Sum: sha256.Sum256(data), Txns: map[string]int64{}}
	seen := map[string]bool{}
	once := func(what string) {
		if seen[what] {
			faults = append(faults, "it holds "+what+" twice")
		}
		seen[what] = true
	}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", n, err)
		}
		v.take(&l, once)
	}
	if n == 0 {
		return nil, nil, errors.New("it is empty")
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		faults = append(faults, "its last line has no end")
	}
	return v, faults, nil
}

// take adds a line.
func (v *Version) take(l *line, once func(what string)) {
	switch {
	case l.CommitInfo != nil:
		var info infoLine
		_ = json.Unmarshal(l.CommitInfo, &info) // free-form: other writers put in what they like
		v.Operation, v.TxnID, v.Metrics, v.Committed = info.Operation, info.TxnID, info.Metrics, info.Committed
	case l.Protocol != nil:
		once("protocol")
	case l.Metadata != nil:
		once("metaData")
		v.TableID = l.Metadata.ID
	case l.Txn != nil:
		once("txn " + l.Txn.AppID)
		v.Txns[l.Txn.AppID] = l.Txn.Version
	case l.Add != nil:
		f := l.Add.file()
		once("add " + f.Path + f.Vector)
		v.Adds = append(v.Adds, f)
	case l.Remove != nil:
		f := l.Remove.file()
		once("remove " + f.Path + f.Vector)
		v.Removes = append(v.Removes, f)
	}
}

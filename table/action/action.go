package action

import (
	"cmp"
	"encoding/json"
)

// Action is one line of a log: exactly one field is set, or none if the line held an action that is not known here.
type Action struct {
	CommitInfo         *CommitInfo         `json:"commitInfo,omitempty"`
	Protocol           *Protocol           `json:"protocol,omitempty"`
	Metadata           *Metadata           `json:"metaData,omitempty"`
	Txn                *Txn                `json:"txn,omitempty"`
	Add                *Add                `json:"add,omitempty"`
	Remove             *Remove             `json:"remove,omitempty"`
	DomainMetadata     *DomainMetadata     `json:"domainMetadata,omitempty"`
	CheckpointMetadata *CheckpointMetadata `json:"checkpointMetadata,omitempty"`
	Sidecar            *Sidecar            `json:"sidecar,omitempty"`
}

// Known reports whether the line held an action that is known here.
func (a *Action) Known() bool { return *a != Action{} }

// Protocol says what software must understand to read and to write the table.
type Protocol struct {
	MinReader      int      `json:"minReaderVersion"`
	MinWriter      int      `json:"minWriterVersion"`
	ReaderFeatures []string `json:"readerFeatures,omitzero"` // set if and only if MinReader is 3
	WriterFeatures []string `json:"writerFeatures,omitzero"` // set if and only if MinWriter is 7
}

// Metadata is the table's identity, schema and settings.
type Metadata struct {
	ID            string            `json:"id"`
	Name          string            `json:"name,omitempty"`
	Description   string            `json:"description,omitempty"`
	Format        FileFormat        `json:"format"`
	Schema        string            `json:"schemaString"` // JSON text
	PartitionBy   []string          `json:"partitionColumns"`
	Configuration map[string]string `json:"configuration"`
	Created       int64             `json:"createdTime,omitempty"` // Unix milliseconds
}

// FileFormat is how data files are written: always Parquet.
type FileFormat struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

// Txn is the newest version of an application that has committed to the table.
type Txn struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated int64  `json:"lastUpdated,omitempty"` // Unix milliseconds
}

// Add says that a data file belongs to the table.
type Add struct {
	Path             string             `json:"path"` // URI text, relative: see EncodePath
	PartitionValues  map[string]*string `json:"partitionValues"`
	Size             int64              `json:"size"`
	Modified         int64              `json:"modificationTime"` // Unix milliseconds
	DataChange       bool               `json:"dataChange"`
	Stats            string             `json:"stats,omitempty"` // JSON text
	Tags             map[string]*string `json:"tags,omitempty"`
	DeletionVector   *DeletionVector    `json:"deletionVector,omitempty"`
	BaseRowID        *int64             `json:"baseRowId,omitempty"`
	RowCommitVersion *int64             `json:"defaultRowCommitVersion,omitempty"`
	Clustering       string             `json:"clusteringProvider,omitempty"`
}

// Remove says that a data file no longer belongs to the table; the file itself stays until it is vacuumed.
type Remove struct {
	Path             string             `json:"path"`
	Deleted          int64              `json:"deletionTimestamp,omitempty"` // Unix milliseconds; missing counts as 0
	DataChange       bool               `json:"dataChange"`
	ExtendedMetadata bool               `json:"extendedFileMetadata,omitempty"`
	PartitionValues  map[string]*string `json:"partitionValues,omitempty"`
	Size             int64              `json:"size,omitempty"`
	DeletionVector   *DeletionVector    `json:"deletionVector,omitempty"`
	BaseRowID        *int64             `json:"baseRowId,omitempty"`
	RowCommitVersion *int64             `json:"defaultRowCommitVersion,omitempty"`
}

// DeletionVector names rows of a data file that are deleted.
type DeletionVector struct {
	Storage     string `json:"storageType"`    // "u": a file named by a Z85 UUID, "i": inline, "p": an absolute path
	Path        string `json:"pathOrInlineDv"` // by Storage
	Offset      *int32 `json:"offset,omitempty"`
	Size        int32  `json:"sizeInBytes"`
	Cardinality int64  `json:"cardinality"`
}

// DomainMetadata is a feature's or an application's setting.
type DomainMetadata struct {
	Domain        string `json:"domain"`
	Configuration string `json:"configuration"`
	Removed       bool   `json:"removed"`
}

// CheckpointMetadata describes a checkpoint from the inside.
type CheckpointMetadata struct {
	Version int64             `json:"version"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// Sidecar is a file with the adds and removes of a checkpoint, in _sidecars/.
type Sidecar struct {
	Path     string            `json:"path"`
	Size     int64             `json:"sizeInBytes"`
	Modified int64             `json:"modificationTime"`
	Tags     map[string]string `json:"tags,omitempty"`
}

// FileKey is the key under which adds and removes replace each other.
type FileKey struct {
	Path string
	DV   string // "" for none
}

// Compare orders keys by path.
func (k FileKey) Compare(other FileKey) int {
	return cmp.Or(cmp.Compare(k.Path, other.Path), cmp.Compare(k.DV, other.DV))
}

// Key is the file's key.
func (a *Add) Key() FileKey { return FileKey{a.Path, a.DeletionVector.id()} }

// Key is the file's key.
func (r *Remove) Key() FileKey { return FileKey{r.Path, r.DeletionVector.id()} }

// id is unique per vector: Delta protocol, "Deletion Vectors", uniqueId.
func (d *DeletionVector) id() string {
	if d == nil {
		return ""
	}
	id := d.Storage + d.Path
	if d.Offset != nil {
		b, _ := json.Marshal(*d.Offset) // a number always encodes
		id += "@" + string(b)
	}
	return id
}

// Tombstone is the remove that takes the file out of the table at a time in Unix milliseconds.
func (a *Add) Tombstone(now int64, dataChange bool) *Remove {
	return &Remove{
		Path: a.Path, Deleted: now, DataChange: dataChange, ExtendedMetadata: true, PartitionValues: a.PartitionValues, Size: a.Size,
		DeletionVector: a.DeletionVector, BaseRowID: a.BaseRowID, RowCommitVersion: a.RowCommitVersion,
	}
}

// Rows is the number of live rows that the statistics promise, or -1 if they do not.
func (a *Add) Rows() int64 {
	if a.Stats == "" {
		return -1
	}
	var s struct {
		NumRecords *int64 `json:"numRecords"`
	}
	if json.Unmarshal([]byte(a.Stats), &s) != nil || s.NumRecords == nil {
		return -1
	}
	if a.DeletionVector != nil {
		return *s.NumRecords - a.DeletionVector.Cardinality
	}
	return *s.NumRecords
}

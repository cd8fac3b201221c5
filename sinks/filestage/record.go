package filestage

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// record is what a batch's folder says of itself, and what the ledger keeps of it.
type record struct {
	Pipeline string        `json:"pipeline"`
	Query    ident.QueryID `json:"query"`
	Shard    string        `json:"shard"`
	Batch    ident.BatchID `json:"batch"`
	Epoch    ident.Epoch   `json:"epoch"`
	Digest   string        `json:"digest"` // of the checkpoint's offsets/<batch>
	Rows     int64         `json:"rows"`
	Files    []file        `json:"files"`
}

// file is a data file of a batch.
type file struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// digest is the record's digest.
func (r record) digest() (d ident.Digest, err error) {
	b, err := hex.DecodeString(r.Digest)
	if err == nil && len(b) != len(d) {
		err = errors.New("the digest has another length")
	}
	copy(d[:], b)
	return d, err
}

// newest is the record of the newest batch, from the folders and the ledger: after a crash the ledger may lack the last one, and readers may have deleted
// folders that the ledger has. Nil if there is none.
func (d disk) newest(l layout) (*record, error) {
	id, place := ident.NoBatch, ""
	visible, err := d.names(".")
	if err != nil {
		return nil, err
	}
	for _, name := range visible {
		if n, ok := l.idOf(name); ok && n > id {
			id, place = n, path.Join(name, recordName)
		}
	}
	entries, err := d.names(l.ledger())
	if err != nil {
		return nil, err
	}
	for _, name := range entries {
		if digits, ok := strings.CutSuffix(name, ".json"); ok {
			if n, ok := number(digits); ok && n >= id {
				id, place = n, l.entry(n)
			}
		}
	}
	if id == ident.NoBatch {
		return nil, nil
	}
	return d.record(id, place)
}

// record reads the record of a batch, from its folder or from the ledger.
func (d disk) record(id ident.BatchID, name string) (*record, error) {
	r := &record{}
	err := d.read(name, r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.FileStageDamaged.Wrap(err, d.place(name), "")
	}
	if err != nil {
		return nil, err
	}
	if _, err := r.digest(); err != nil || r.Batch != id {
		return nil, errcode.FileStageDamaged.Wrap(err, d.place(name), "it is the record of batch %s", r.Batch)
	}
	return r, nil
}

// enter puts the record into the ledger, by way of the ground, and forgets one that is old.
func (d disk) enter(l layout, ground string, r *record) error {
	if err := d.replace(l.entry(r.Batch), ground, r); err != nil {
		return err
	}
	old := l.entry(r.Batch - kept)
	if err := d.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.failed("remove", old, err)
	}
	return nil
}

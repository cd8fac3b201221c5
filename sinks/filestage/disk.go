package filestage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
)

// disk is the folder that the sink writes into. Names are relative to it, "." is the folder itself. Errors have their code and place.
type disk struct{ localfs.FS }

func (d disk) failed(op, name string, err error) error { return localfs.Explain(d.FS, op, name, err) }

// place is a name as people find it.
func (d disk) place(name string) string { return path.Join(d.URL(), name) }

// sync makes the names in a folder durable.
func (d disk) sync(dir string) error {
	if err := d.SyncDir(dir); err != nil {
		return d.failed("sync", dir, fmt.Errorf("%w: %w", objstore.ErrFsync, err))
	}
	return nil
}

// makeDir makes a folder and those above it, durably.
func (d disk) makeDir(dir string) error {
	if dir != "." {
		if err := d.makeDir(path.Dir(dir)); err != nil {
			return err
		}
	}
	if err := d.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return d.failed("make folder", dir, err)
	}
	return d.sync(path.Dir(dir)) // also of a folder that is there: whoever made it may have died before this
}

// write makes a small file, durably but for its name.
func (d disk) write(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("files sink: %s: %w", name, err)
	}
	f, err := d.Create(name, 0o666)
	if err != nil {
		return d.failed("create", name, err)
	}
	if _, err = f.Write(append(text, '\n')); err == nil {
		err = syncFile(f)
	}
	return d.failed("write", name, errors.Join(err, f.Close()))
}

// syncFile makes a file's content durable.
func syncFile(f localfs.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w: %w", objstore.ErrFsync, err)
	}
	return nil
}

// replace puts a small file in place of another, in one durable step. It is written on the ground of the epoch, where no other driver writes.
func (d disk) replace(name, ground string, value any) error {
	next := path.Join(ground, path.Base(name))
	if err := d.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.failed("remove", next, err)
	}
	if err := d.write(next, value); err != nil {
		return err
	}
	if err := d.Rename(next, name); err != nil {
		return d.failed("rename", name, err)
	}
	return d.sync(path.Dir(name))
}

// read reads a small file of ours. fs.ErrNotExist if there is none.
func (d disk) read(name string, into any) error {
	f, err := d.Open(name)
	if err != nil {
		return d.failed("open", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return d.failed("read", name, err)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return d.failed("read", name, err)
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		return errcode.FileStageDamaged.Wrap(err, d.place(name), "")
	}
	return nil
}

// names lists a folder; one that is not there has no names.
func (d disk) names(dir string) ([]string, error) {
	entries, err := d.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, d.failed("list", dir, err)
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out, nil
}

// removeAll removes a folder with all that is in it. One that is not there is no error.
func (d disk) removeAll(dir string) error {
	entries, err := d.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return d.failed("list", dir, err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if err := d.removeAll(name); err != nil {
				return err
			}
		} else if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return d.failed("remove", name, err)
		}
	}
	if err := d.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.failed("remove", dir, err)
	}
	return nil
}

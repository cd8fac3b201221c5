package gate

import (
	"context"
	"io/fs"

	"microbatch/objstore/localfs"
)

// Disk is a file system as the process sees it: every change, and every look, passes the judge. What is read of an open file is no operation.
func (p *Process) Disk(place string, inner localfs.FS) localfs.FS { return &disk{inner, p, place} }

type disk struct {
	localfs.FS
	p     *Process
	place string
}

func (d *disk) do(kind, name string, act func() error) error {
	return d.p.Do(context.Background(), d.place, kind, name, act)
}

func (d *disk) opened(kind, name string, open func() (localfs.File, error)) (localfs.File, error) {
	var f localfs.File
	err := d.do(kind, name, func() (err error) { f, err = open(); return err })
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &file{f, d, name}, nil
}

func (d *disk) Create(name string, perm fs.FileMode) (localfs.File, error) {
	return d.opened("create", name, func() (localfs.File, error) { return d.FS.Create(name, perm) })
}

func (d *disk) Open(name string) (localfs.File, error) {
	return d.opened("open", name, func() (localfs.File, error) { return d.FS.Open(name) })
}

func (d *disk) Mkdir(name string, perm fs.FileMode) error {
	return d.do("mkdir", name, func() error { return d.FS.Mkdir(name, perm) })
}

func (d *disk) Link(old, name string) error {
	return d.do("link", name, func() error { return d.FS.Link(old, name) })
}

func (d *disk) Rename(old, name string) error {
	return d.do("rename", name, func() error { return d.FS.Rename(old, name) })
}

func (d *disk) Remove(name string) error {
	return d.do("remove", name, func() error { return d.FS.Remove(name) })
}

func (d *disk) SyncDir(name string) error {
	return d.do("syncdir", name, func() error { return d.FS.SyncDir(name) })
}

func (d *disk) Stat(name string) (info fs.FileInfo, err error) {
	err = d.do("stat", name, func() (err error) { info, err = d.FS.Stat(name); return err })
	return info, err
}

func (d *disk) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = d.do("readdir", name, func() (err error) { entries, err = d.FS.ReadDir(name); return err })
	return entries, err
}

// file is an open file of the process.
type file struct {
	localfs.File
	disk *disk
	name string
}

func (f *file) Write(data []byte) (n int, err error) {
	err = f.disk.do("append", f.name, func() (err error) { n, err = f.File.Write(data); return err })
	return n, err
}

func (f *file) Sync() error { return f.disk.do("sync", f.name, f.File.Sync) }

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"microbatch/codec"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// input is a planned file while its units are read.
type input struct {
	source *Source
	file   file
	name   string // its URI

	mu     sync.Mutex // of object and users
	object objstore.Object
	users  int

	// The rest is guarded by work.mu.
	units []codec.Unit
	given int  // units handed out
	done  int  // units read to the end
	held  bool // one use is for the units not handed out yet
}

func newInput(s *Source, f file) *input {
	return &input{source: s, file: f, name: s.root.uri(f.key)}
}

// open opens the file for one more user, and checks that it is as it was planned (F3).
func (in *input) open(ctx context.Context) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.object == nil {
		object, err := in.source.config.Store.Open(ctx, in.file.key)
		if err != nil {
			return in.source.fileError(in.file, err)
		}
		if err := in.check(ctx, object.Size()); err != nil {
			return errors.Join(err, object.Close())
		}
		in.object = object
	}
	in.users++
	return nil
}

// close ends one use.
func (in *input) close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.users--
	if in.users > 0 {
		return nil
	}
	err := in.object.Close()
	in.object = nil
	return err
}

// letGo ends the use that was for units not handed out.
func (in *input) letGo() error {
	if !in.held {
		return nil
	}
	in.held = false
	return in.close()
}

// check compares the file with the plan: its state by name, and the size of what is open.
func (in *input) check(ctx context.Context, opened int64) error {
	info, err := in.source.config.Store.Stat(ctx, in.file.key)
	if err != nil {
		return in.source.fileError(in.file, err)
	}
	now := fileOf(info)
	how := now.changedFrom(in.file)
	if now.size = opened; how == "" {
		how = now.changedFrom(in.file)
	}
	if how != "" && !bugs.Is(bugs.ChangedFileIsRead) {
		return changedError(in.name, in.file, how)
	}
	return nil
}

// checkEnd compares a file without etag with the plan again when it has been read: it may have been written to meanwhile.
func (in *input) checkEnd(ctx context.Context) error {
	if in.file.etag != "" {
		return nil
	}
	return in.check(ctx, in.file.size)
}

// explain gives an error of a decoder its cause: what is wrong with a file that is written to while it is read is that it changes.
func (in *input) explain(ctx context.Context, err error) error {
	if changed := in.check(ctx, in.file.size); errcode.Has(changed, errcode.FileChanged) {
		return changed
	}
	return in.source.fileError(in.file, err)
}

func changedError(name string, planned file, how string) error {
	return errcode.FileChanged.New(name, "%s", how).Advise(
		"The batch holds this file as it was: %d bytes, modified at %s. If only data was added, move what is behind byte %d to a file of its own, cut this one there, and set its time with `touch -d %s`; "+
			"then start again. Write files elsewhere and rename them into place, or set `settle`. To go on without this file delete it and set `on_data_loss: skip`.",
		planned.size, moment(planned.modified), planned.size, moment(planned.modified))
}

// codecFile is the open file for a decoder. done ends the decompression.
func (in *input) codecFile() (f codec.File, done func(), err error) {
	f = codec.File{Name: in.name, Size: in.file.size}
	kind := compression(in.file.key)
	if kind == "" {
		f.At = in.object
		return f, func() {}, nil
	}
	r, err := newInflater(kind, io.NewSectionReader(in.object, 0, in.file.size), in.name, in.limit())
	if err != nil {
		return f, nil, err
	}
	a := newAhead(r)
	f.Stream = a
	return f, func() { a.close(); r.close() }, nil
}

// freeInflation is what any compressed file may grow to.
const freeInflation = 64 << 20

func (in *input) limit() int64 { return freeInflation + in.file.size*in.source.config.MaxInflation }

// cut divides the open file into units.
func (in *input) cut(ctx context.Context, target int64) ([]codec.Unit, error) {
	if compression(in.file.key) != "" {
		return []codec.Unit{{From: 0, To: in.file.size}}, nil
	}
	units, err := in.source.config.Format.Units(ctx, codec.File{Name: in.name, At: in.object, Size: in.file.size}, target)
	if err != nil {
		return nil, in.source.fileError(in.file, err)
	}
	return units, nil
}

// fileError gives an error about a file its code, unless it has one.
func (s *Source) fileError(f file, err error) error {
	name := s.root.uri(f.key)
	switch _, coded := errors.AsType[*errcode.Error](err); {
	case coded:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return errcode.FileGone.Wrap(err, name, "")
	case errors.Is(err, fs.ErrPermission):
		return errcode.FileUnreadable.Wrap(err, name, "")
	}
	return fmt.Errorf("files source: %s: %w", name, err)
}

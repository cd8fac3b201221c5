package localfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"microbatch/objstore"
)

// List walks the folders in the order of the keys, holding the names of one folder per level.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		l := lister{store: s, ctx: ctx, prefix: prefix, after: after}
		dir, _ := path.Split(prefix)
		if dir != "" {
			if err := objstore.ValidKey(strings.TrimSuffix(dir, "/")); err != nil {
				yield(objstore.Info{}, s.explain("list", prefix, err))
				return
			}
		}
		if hasDot(dir) {
			return // nothing below a hidden folder is an object
		}
		if err := l.walk(dir, yield); err != nil && !errors.Is(err, errEnough) {
			yield(objstore.Info{}, s.explain("list", prefix, err))
		}
	}
}

// errEnough ends a walk whose receiver wants no more.
var errEnough = errors.New("enough")

type lister struct {
	store         *Store
	ctx           context.Context // of the one List call that the lister lives for
	prefix, after string
}

// walk yields the objects below dir, which is "" or ends in a slash. A folder that is gone has none.
func (l lister) walk(dir string, yield func(objstore.Info, error) bool) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := l.store.fs.ReadDir(path.Clean("./" + dir))
	if err = asMissing(err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range inKeyOrder(entries) {
		key := dir + e.key
		if e.IsDir() {
			if l.mayHold(key) {
				err = l.walk(key, yield)
			}
		} else if strings.HasPrefix(key, l.prefix) && key > l.after {
			err = l.file(key, e, yield)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mayHold reports whether a folder, written with its slash, can have keys with the prefix that come after l.after.
func (l lister) mayHold(dir string) bool {
	if !strings.HasPrefix(dir, l.prefix) && !strings.HasPrefix(l.prefix, dir) {
		return false
	}
	return dir > l.after || strings.HasPrefix(l.after, dir)
}

func (l lister) file(key string, e entry, yield func(objstore.Info, error) bool) error {
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = l.store.fs.Stat(key)
		if err == nil && info.IsDir() {
			return nil // links to folders are not followed: they could go round in a circle
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // deleted meanwhile, or a link to nothing
	case err != nil:
		return fmt.Errorf("%s: %w", key, err)
	case !info.Mode().IsRegular():
		return nil
	}
	if !yield(objstore.Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil) {
		return errEnough
	}
	return nil
}

// entry is one of a folder, with the name as it stands in keys: that of a folder ends in a slash, which is what puts "a-" before "a/b" and "a/b" before "a0".
type entry struct {
	fs.DirEntry
	key string
}

func inKeyOrder(dir []fs.DirEntry) []entry {
	entries := make([]entry, 0, len(dir))
	for _, d := range dir {
		key := d.Name()
		if strings.HasPrefix(key, ".") {
			continue
		}
		if d.IsDir() {
			key += "/"
		}
		entries = append(entries, entry{d, key})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return entries
}

func hasDot(dir string) bool { return strings.HasPrefix(dir, ".") || strings.Contains(dir, "/.") }

// Tidy removes the temporary files below a prefix that were last written before a time: those of processes that were killed. It returns how many.
// Take a time well before the oldest writer that may still be at work.
func (s *Store) Tidy(ctx context.Context, prefix string, before time.Time) (int, error) {
	dir, _ := path.Split(prefix)
	n, err := s.tidy(ctx, dir, prefix, before)
	return n, s.explain("tidy", prefix, err)
}

func (s *Store) tidy(ctx context.Context, dir, prefix string, before time.Time) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	entries, err := s.fs.ReadDir(path.Clean("./" + dir))
	if err = asMissing(err); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if err != nil {
			return n, err
		}
		var m int
		name := dir + e.Name()
		switch {
		case e.IsDir() && !strings.HasPrefix(e.Name(), "."):
			if strings.HasPrefix(name+"/", prefix) || strings.HasPrefix(prefix, name+"/") {
				m, err = s.tidy(ctx, name+"/", prefix, before)
			}
		case isTemp(e.Name()) && strings.HasPrefix(dir+e.Name()[1:], prefix):
			m, err = s.removeOld(name, e, before)
		}
		n += m
	}
	return n, err
}

func isTemp(name string) bool { return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") }

func (s *Store) removeOld(name string, e fs.DirEntry, before time.Time) (int, error) {
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return 0, err
	}
	return 1, s.removeIfThere(name)
}

package localfs

import (
	"errors"
	"io/fs"
	"path"
	"sync"
	"syscall"

	"microbatch/internal/bugs"
)

// dirTries bounds how often a folder is made again that another process removes: Lock takes its empty folders away.
const dirTries = 8

// maxDurable bounds the memory of folders known to be durable.
const maxDurable = 8192

// makeDirs makes a folder and what is missing above it, and returns what it made, the deepest last. Nothing is durable yet: see syncer.way.
func (s *Store) makeDirs(dir string) (made []string, err error) {
	for try := 0; ; try++ {
		err = s.fs.Mkdir(dir, s.dirMode)
		if err == nil {
			s.syncs.forget(dir)
			return append(made, dir), nil
		}
		if errors.Is(err, fs.ErrExist) {
			return made, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == "." || try == dirTries {
			return made, err
		}
		above, err := s.makeDirs(path.Dir(dir))
		made = append(made, above...)
		if err != nil {
			return made, err
		}
	}
}

// inDir runs op, which makes a name in dir, and makes the folder first where it is missing.
func (s *Store) inDir(dir string, op func() error) error {
	for try := 0; ; try++ {
		err := op()
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == dirTries {
			return err
		}
		if _, err := s.makeDirs(dir); err != nil {
			return err
		}
	}
}

// syncer makes names durable. Callers that arrive while a folder is being synced wait for the next sync and share it.
type syncer struct {
	sync func(dir string) error

	mu      sync.Mutex
	durable map[string]bool     // folders whose own name, and the way to it, is durable
	next    map[string]*dirSync // the sync of a folder that has not begun
	running map[string]*dirSync // the sync of a folder that has
	failed  map[string]error    // folders whose sync has failed: they are not synced again (L3)
}

type dirSync struct {
	done chan struct{}
	err  error
}

// names makes the names in dir durable, and the way to dir (L2).
func (s *syncer) names(dir string) error {
	if bugs.Is(bugs.NoDirectorySync) {
		return nil
	}
	if err := s.shared(dir); err != nil {
		return asFsync(err)
	}
	return s.way(dir)
}

// way makes dir's own name durable in its parent, and so on upwards, unless this process has done it before.
func (s *syncer) way(dir string) error {
	var synced []string
	for ; dir != "." && !s.known(dir); dir = path.Dir(dir) {
		if err := s.shared(path.Dir(dir)); err != nil {
			return asFsync(err)
		}
		synced = append(synced, dir)
	}
	s.remember(synced) // only now: a folder counts when all above it is durable as well
	return nil
}

func (s *syncer) known(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable[dir]
}

// shared is one sync of dir that begins after the call.
func (s *syncer) shared(dir string) error {
	s.mu.Lock()
	if err := s.failed[dir]; err != nil {
		s.mu.Unlock()
		return err
	}
	if s.next == nil {
		s.next, s.running = map[string]*dirSync{}, map[string]*dirSync{}
	}
	if waiting := s.next[dir]; waiting != nil {
		s.mu.Unlock()
		<-waiting.done
		return waiting.err
	}
	mine := &dirSync{done: make(chan struct{})}
	s.next[dir] = mine
	before := s.running[dir]
	s.mu.Unlock()
	if before != nil {
		<-before.done
	}
	s.mu.Lock()
	delete(s.next, dir)
	s.running[dir] = mine
	mine.err = s.failed[dir] // by the one before
	s.mu.Unlock()

	if mine.err == nil {
		mine.err = s.sync(dir)
	}

	s.mu.Lock()
	delete(s.running, dir)
	if mine.err != nil && !notAsked(mine.err) {
		if s.failed == nil {
			s.failed = map[string]error{}
		}
		s.failed[dir] = mine.err
	}
	s.mu.Unlock()
	close(mine.done)
	return mine.err
}

// notAsked reports whether a sync ended before the disk was asked: the folder is gone, or there was no descriptor for it.
func notAsked(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (s *syncer) remember(dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.durable == nil || len(s.durable) >= maxDurable {
		s.durable = map[string]bool{}
	}
	for _, dir := range dirs {
		s.durable[dir] = true
	}
}

// forget is for a folder that is made or removed: what was known of its name no longer holds.
func (s *syncer) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.durable, dir)
}

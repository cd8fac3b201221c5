package localfs

import (
	"errors"
	"io"
	"path"
)

// What must not be done stands here: only seeded bugs come this way (internal/bugs), and no usual build has them.

// writeInPlace makes a file under its own name: who looks meanwhile, and who looks after a crash, sees half of it.
func (s *Store) writeInPlace(key string, fill func(io.Writer) error) error {
	var f File
	err := s.inDir(path.Dir(key), func() (err error) {
		f, err = s.fs.Create(key, s.fileMode)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(fill(f), asFsync(f.Sync()), f.Close(), s.syncs.names(path.Dir(key)))
}

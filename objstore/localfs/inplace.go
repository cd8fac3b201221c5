package localfs

import (
	"errors"
	"path"
)

// writeInPlace is how a file must not be made: who looks meanwhile, and who looks after a crash, sees half of it. Only a seeded bug comes here (internal/bugs).
func (s *Store) writeInPlace(key string, data []byte) error {
	var f File
	err := s.inDir(path.Dir(key), func() (err error) {
		f, err = s.fs.Create(key, s.fileMode)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, asFsync(f.Sync()), f.Close(), s.syncs.names(path.Dir(key)))
}

package checker

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// state is what the versions up to one add up to.
type state struct {
	version int64 // -1: nothing yet
	tableID string
	live    map[fileID]File
	txns    map[string]int64
	gone    map[string]bool // paths that were removed and whose files may still be there
	sum     stateSum
}

// stateSum tells states apart without keeping them: sums of the live files and of the txns in which order does not count.
type stateSum struct {
	files, txns         int
	filesHash, txnsHash [sha256.Size]byte
}

func newState() *state {
	return &state{version: -1, live: map[fileID]File{}, txns: map[string]int64{}, gone: map[string]bool{}}
}

func (s *stateSum) flipFile(f *File, n int) {
	s.files += n
	flip(&s.filesHash, f.Path+"\x00"+f.Vector+"\x00"+strconv.FormatInt(f.Size, 10))
}

func (s *stateSum) flipTxn(appID string, version int64, n int) {
	s.txns += n
	flip(&s.txnsHash, appID+"\x00"+strconv.FormatInt(version, 10))
}

// flip puts a text into a sum, or takes it out again.
func flip(sum *[sha256.Size]byte, text string) {
	for i, b := range sha256.Sum256([]byte(text)) {
		sum[i] ^= b
	}
}

func (s *state) add(f File) {
	s.live[f.id()] = f
	s.sum.flipFile(&f, 1)
}

// remove takes a file out, and returns it as it was added.
func (s *state) remove(id fileID) (File, bool) {
	f, ok := s.live[id]
	if ok {
		delete(s.live, id)
		s.sum.flipFile(&f, -1)
	}
	return f, ok
}

func (s *state) setTxn(appID string, version int64) {
	if old, ok := s.txns[appID]; ok {
		s.sum.flipTxn(appID, old, -1)
	}
	s.txns[appID] = version
	s.sum.flipTxn(appID, version, 1)
}

// apply goes on to the next version. faults are breaches of rule 2 and of the table's identity; removed are the files as they were added.
func (s *state) apply(v *Version) (removed []File, faults []string) {
	for i := range v.Removes {
		s.gone[v.Removes[i].Path] = true
		f, ok := s.remove(v.Removes[i].id())
		if !ok {
			faults = append(faults, fmt.Sprintf("it removes %s, which is not live", v.Removes[i].Path))
			continue
		}
		removed = append(removed, f)
	}
	for _, f := range v.Adds {
		switch _, live := s.live[f.id()]; {
		case live:
			faults = append(faults, fmt.Sprintf("it adds %s, which is live already", f.Path))
			continue
		case f.Key == "":
			faults = append(faults, fmt.Sprintf("it adds %q, which is not a path below the table", f.Path))
		}
		s.add(f)
	}
	for app, n := range v.Txns {
		s.setTxn(app, n)
	}
	s.version = v.Number
	return removed, faults
}

// rows is the number of rows in the live files; -1 if the log does not say it of each.
func (s *state) rows() (n int64) {
	for _, f := range s.live {
		if f.Rows < 0 {
			return -1
		}
		n += f.Rows
	}
	return n
}

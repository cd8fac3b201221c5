package files

import "sync"

// density estimates rows by bytes. Without experience a row is taken for 100 bytes as text and 20 in files that are compressed by themselves.
type density struct {
	mu          sync.Mutex
	bytes, seen int64 // of files read by this process
}

// learn adds what a split has read.
func (d *density) learn(bytes, rows int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes += bytes
	d.seen += rows
}

// rowsOf is at least 1: only files with content are planned, and a range of 0 rows counts as nothing new.
func (d *density) rowsOf(f file) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	perByte := 0.01
	switch {
	case d.bytes > 0 && d.seen > 0:
		perByte = float64(d.seen) / float64(d.bytes)
	case compression(f.key) != "":
		perByte = 0.05
	}
	return max(1, int64(float64(f.size)*perByte))
}

func (d *density) rows(entry []file) (n int64) {
	for _, f := range entry {
		n += d.rowsOf(f)
	}
	return n
}

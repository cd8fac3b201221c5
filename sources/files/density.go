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

func (d *density) rowsOf(f file) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case f.size < 0:
		return 0
	case d.bytes > 0 && d.seen > 0:
		return int64(float64(f.size) * float64(d.seen) / float64(d.bytes))
	case compression(f.key) != "":
		return f.size / 20
	}
	return f.size / 100
}

func (d *density) rows(entry []file) (n int64) {
	for _, f := range entry {
		n += d.rowsOf(f)
	}
	return n
}

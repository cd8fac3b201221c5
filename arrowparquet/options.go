package arrowparquet

import (
	"fmt"
	"slices"
)

// Encoding says how values are laid out in pages.
type Encoding int

const (
	// Auto chooses for each column chunk: dictionaries for strings that repeat, DELTA_BINARY_PACKED for integers, dates and times,
	// DELTA_BYTE_ARRAY for strings that begin alike, DELTA_LENGTH_BYTE_ARRAY for others, PLAIN for the rest.
	Auto Encoding = iota
	// Plain uses PLAIN alone, which every reader knows.
	Plain
)

// The compressions.
const (
	Snappy = "snappy" // the fast kind: about 5 % more bytes than the usual, in half the time
	Zstd   = "zstd"
	None   = "none"
)

// Options are a Writer's settings. The zero value is right for most.
type Options struct {
	// Compression is Snappy (default), Zstd or None. A column chunk that gains too little is stored uncompressed (see the package comment).
	Compression string
	// OneCompression compresses every chunk, whatever it gains: some readers (parquet-go) take the compression of a column's first chunk for that of all.
	OneCompression bool
	// Encoding is Auto (default) or Plain.
	Encoding Encoding
	// RowGroupRows ends a row group; 122,880 if 0. A group may be longer by less than a page.
	RowGroupRows int64
	// RowGroupBytes ends a row group by its encoded bytes, all of which are held in memory; 64 MiB if 0.
	RowGroupBytes int64
	// StatsColumns is how many leaves, in order, get minimum and maximum in FileStats.DeltaJSON; 32 if 0, all if negative. The footer has those of all.
	StatsColumns int
	// Metadata are key-value pairs for the footer.
	Metadata map[string]string
}

// withDefaults fills in what is zero and reports what is impossible.
func (o Options) withDefaults() (Options, error) {
	if o.Compression == "" {
		o.Compression = Snappy
	}
	if !slices.Contains([]string{Snappy, Zstd, None}, o.Compression) {
		return o, fmt.Errorf("arrowparquet: compression %q: must be %s, %s or %s", o.Compression, Snappy, Zstd, None)
	}
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = 120 << 10
	}
	if o.RowGroupBytes <= 0 {
		o.RowGroupBytes = 64 << 20
	}
	if o.StatsColumns == 0 {
		o.StatsColumns = 32
	}
	return o, nil
}

// Limits bound what reading a file may cost. The zero value means the defaults.
type Limits struct {
	MetadataBytes int64 // of the footer; 16 MiB
	Columns       int   // leaves; 10,000
	PageBytes     int64 // of one page, uncompressed; 256 MiB
	OpenBytes     int64 // of all pages that are open at once, one for each column that is read; 4 GiB
}

func (l Limits) withDefaults() Limits {
	if l.MetadataBytes <= 0 {
		l.MetadataBytes = 16 << 20
	}
	if l.Columns <= 0 {
		l.Columns = 10_000
	}
	if l.PageBytes <= 0 {
		l.PageBytes = 256 << 20
	}
	if l.OpenBytes <= 0 {
		l.OpenBytes = 4 << 30
	}
	return l
}

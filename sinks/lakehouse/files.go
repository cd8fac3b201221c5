package lakehouse

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/table"
	"microbatch/table/merge"
	"microbatch/table/translog"
)

// following is a list of the table's files that is kept between batches. It decides only which files a batch looks at: whether another writer has changed them is seen
// by the commit, in the log itself.
type following struct {
	files *merge.Files
	at    *translog.State // what files are the list of; nil: nothing
}

// to brings the list to a version of the table, for rows with a schema. It is valid until the next batch.
func (f *following) to(ctx context.Context, t *table.Table, snap *table.Snapshot, rows *arrow.Schema, keys []string) (*merge.Files, error) {
	if f.files == nil || !f.files.Suits(rows, snap.PartitionBy()) {
		f.files, f.at = merge.NewFiles(rows, snap.PartitionBy(), keys), nil
	}
	from := f.at
	f.at = nil
	if err := t.Log().Follow(ctx, from, snap.State(), f.files); err != nil {
		return nil, err
	}
	f.at = snap.State()
	return f.files, nil
}

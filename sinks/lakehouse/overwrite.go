package lakehouse

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// replaceFiles finds the files that a batch takes the place of, after its own are staged: all of the table, or those of the partitions that it has rows of. What others
// add there meanwhile would have to be replaced too.
func (s *Sink) replaceFiles(ctx context.Context, t *table.Table, p *pending) (err error) {
	if _, err = s.latest(ctx, t); err != nil {
		return err
	}
	p.snap = s.base(t, p)
	files, err := s.live.to(ctx, t, p.snap, p.schema, nil)
	if err != nil {
		return err
	}
	replaces := func(map[string]*string) bool { return true }
	if s.cfg.Merge.Mode == OverwritePartitions {
		replaces = samePartitions(p.snap, p.adds)
	}
	p.sees = func(a *action.Add) bool { return replaces(a.PartitionValues) }
	p.replaced = files.In(replaces)
	return nil
}

// samePartitions says of the values of a partition whether some files are in it, however the values are spelled.
func samePartitions(snap *table.Snapshot, files []*action.Add) func(partition map[string]*string) bool {
	keyOf := func(partition map[string]*string) string {
		values := map[string]*string{}
		for _, by := range snap.PartitionBy() {
			f := snap.Schema().Field(slices.IndexFunc(snap.Schema().Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, by) }))
			for name, text := range partition {
				if strings.EqualFold(name, by) {
					values[by] = datafile.PartitionText(f.Type, text)
				}
			}
		}
		return action.PartitionKey(values)
	}
	written := map[string]bool{}
	for _, a := range files {
		written[keyOf(a.PartitionValues)] = true
	}
	return func(partition map[string]*string) bool { return written[keyOf(partition)] }
}

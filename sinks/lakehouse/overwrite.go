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
	p.sees = func(*action.Add) bool { return true }
	if s.cfg.Merge.Mode == OverwritePartitions {
		p.sees = samePartitions(p.snap, p.adds)
	}
	files, err := p.snap.Files(ctx)
	if err != nil {
		return err
	}
	for _, a := range files {
		if p.sees(a) {
			p.replaced = append(p.replaced, a)
		}
	}
	return nil
}

// samePartitions says of a file whether it is in a partition that some files are in, however its values are spelled.
func samePartitions(snap *table.Snapshot, files []*action.Add) func(*action.Add) bool {
	keyOf := func(a *action.Add) string {
		values := map[string]*string{}
		for _, by := range snap.PartitionBy() {
			f := snap.Schema().Field(slices.IndexFunc(snap.Schema().Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, by) }))
			for name, text := range a.PartitionValues {
				if strings.EqualFold(name, by) {
					values[by] = datafile.PartitionText(f.Type, text)
				}
			}
		}
		return action.PartitionKey(values)
	}
	written := map[string]bool{}
	for _, a := range files {
		written[keyOf(a)] = true
	}
	return func(a *action.Add) bool { return written[keyOf(a)] }
}

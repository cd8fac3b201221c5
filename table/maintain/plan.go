package maintain

import (
	"maps"
	"slices"

	"microbatch/table/action"
)

// plan groups files that are worth joining: of one partition, small, together about a target's length. A file with deleted rows is worth a rewrite alone.
func plan(files []*action.Add, target int64) [][]*action.Add {
	partitions := map[string][]*action.Add{}
	for _, a := range files {
		if a.Size < target/4*3 || a.DeletionVector != nil {
			key := action.PartitionKey(a.PartitionValues)
			partitions[key] = append(partitions[key], a)
		}
	}
	var groups [][]*action.Add
	for _, key := range slices.Sorted(maps.Keys(partitions)) {
		groups = append(groups, pack(partitions[key], target)...)
	}
	return groups
}

// pack fills groups in the order in which the files were written, so that rows that came together stay together.
func pack(files []*action.Add, target int64) (groups [][]*action.Add) {
	slices.SortStableFunc(files, func(a, b *action.Add) int { return int(a.Modified - b.Modified) })
	var group []*action.Add
	var bytes int64
	end := func() {
		if len(group) > 1 || len(group) == 1 && group[0].DeletionVector != nil {
			groups = append(groups, group)
		}
		group, bytes = nil, 0
	}
	for _, a := range files {
		if len(group) > 0 && bytes+a.Size > target {
			end()
		}
		group = append(group, a)
		bytes += a.Size
	}
	end()
	return groups
}

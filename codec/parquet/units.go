package parquet

import (
	"slices"

	"microbatch/arrowparquet"
	"microbatch/codec"
)

// cut makes units of whole row groups, each of about target bytes.
func cut(groups []arrowparquet.RowGroup, size, target int64) []codec.Unit {
	var starts []int64
	for _, g := range groups {
		starts = append(starts, start(g, size))
	}
	slices.Sort(starts)
	var units []codec.Unit
	from := int64(0)
	for i, at := range starts {
		if i > 0 && at-from >= target {
			units = append(units, codec.Unit{From: from, To: at})
			from = at
		}
	}
	return append(units, codec.Unit{From: from, To: size})
}

// owned are the row groups of a unit, in order of the file's footer.
func owned(groups []arrowparquet.RowGroup, unit codec.Unit, size int64) []int {
	own := []int{}
	for i, g := range groups {
		if at := start(g, size); at >= unit.From && at < unit.To {
			own = append(own, i)
		}
	}
	return own
}

// start is where a row group begins; a place outside of the file, which only a damaged footer names, counts as its first byte.
func start(g arrowparquet.RowGroup, size int64) int64 {
	if g.From < 0 || g.From >= size {
		return 0
	}
	return g.From
}

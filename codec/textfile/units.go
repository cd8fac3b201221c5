package textfile

import "microbatch/codec"

// Units cuts a file into units of target bytes, wherever that falls in a line. A stream is one unit.
func Units(f codec.File, target int64) []codec.Unit {
	if f.At == nil || target <= 0 || f.Size <= target {
		return []codec.Unit{{From: 0, To: f.Size}}
	}
	n := (f.Size + target - 1) / target
	units := make([]codec.Unit, n)
	for i := range units {
		units[i] = codec.Unit{From: f.Size * int64(i) / n, To: f.Size * int64(i+1) / n}
	}
	return units
}

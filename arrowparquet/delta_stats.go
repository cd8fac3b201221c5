package arrowparquet

// DeltaJSON is the text of stats in a Delta add action (Delta protocol: Per-file Statistics).
func (s *FileStats) DeltaJSON() string { return "" }

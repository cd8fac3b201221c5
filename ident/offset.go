package ident

// Offset is a position in a source as canonical JSON (no spaces, keys in a fixed order), opaque to all but its source.
// It is written to the offsets log as it is. "" means no offset: the source has not been read yet; it is written as "-".
type Offset string

// Range is what one batch takes from one source: rows from From (inclusive) to To (exclusive).
type Range struct {
	From, To Offset
	// Aux are facts beside the offsets that the source wants to find again at a rerun (topic ids, leader epochs).
	// They live in the conf of the offsets entry as microbatch.source.<n>.<key>.
	Aux map[string]string
}

// Empty reports whether the range holds no rows for certain.
func (r Range) Empty() bool { return r.From == r.To }

// Description is the configuration of a component as plain data, for the pipeline's fingerprint. It holds no secrets and no limits.
type Description struct {
	Kind string // "kafka", "files", "table", ...
	Name string // for people: "KafkaV2[Subscribe[orders]]"
	// Identity may not change over the life of a query: another value is another query.
	Identity map[string]any
	// Evolution may change while no batch is pending; the change is logged.
	Evolution map[string]any
	// Learned are facts found out rather than configured (topic ids, a table id, an inferred schema), known after Open or Check.
	// They are pinned in the epoch entry and compared one by one.
	Learned map[string]string
}

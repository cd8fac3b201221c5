package config

import (
	"slices"
	"strings"
)

// mode checks what a table's mode needs, and what belongs to another one.
func (v validator) mode(t *Table) {
	const at = "sink.table."
	only := map[string]string{"keys": "upsert", "operation_column": "upsert", "delete_values": "upsert", "deduplicate_by": "append"}
	for key, mode := range only {
		if v.given(at+key) && t.Mode != mode {
			v.clash(at+key, "sink.table.%s: it is for mode: %s; the mode is %s", key, mode, t.Mode)
		}
	}
	for key, columns := range map[string][]string{"keys": t.Keys, "order_by": t.OrderBy, "delete_values": t.DeleteValues, "deduplicate_by": t.DeduplicateBy} {
		v.distinct(at+key, columns)
	}
	if t.Mode == "upsert" && len(t.Keys) == 0 {
		v.missing(at+"keys", "mode: upsert needs the columns that tell rows apart, such as keys: [id]")
	}
	if len(t.OrderBy) > 0 && t.Mode != "upsert" && len(t.DeduplicateBy) == 0 {
		v.clash(at+"order_by", "sink.table.order_by: it decides between rows of one key; use it with mode: upsert or deduplicate_by")
	}
	if len(t.DeleteValues) > 0 && t.OperationColumn == "" {
		v.clash(at+"delete_values", "sink.table.delete_values: they are values of operation_column, which is missing")
	}
	if op := t.OperationColumn; op != "" && slices.ContainsFunc(slices.Concat(t.Keys, t.OrderBy, t.PartitionBy), func(c string) bool { return strings.EqualFold(c, op) }) {
		v.clash(at+"operation_column", "sink.table.operation_column: %s is not part of the table, so it can be no key, no order and no partition", op)
	}
	if t.Mode == "overwrite_partitions" && len(t.PartitionBy) == 0 {
		v.missing(at+"partition_by", "mode: overwrite_partitions replaces partitions")
	}
	if t.Mode == "append" || t.Mode == "" {
		return
	}
	if t.Format == "parquet" && !t.AllowReplacedFiles {
		v.clash(at+"mode", "sink.table.mode: %s with format: parquet leaves replaced files in sight of readers of files until vacuum; accept it by allow_replaced_files: true, or use format: delta", t.Mode)
	}
	if strings.EqualFold(t.Properties["delta.appendOnly"], "true") {
		v.clash(at+"mode", "sink.table.mode: %s takes rows out, which delta.appendOnly forbids; remove one of the two", t.Mode)
	}
}

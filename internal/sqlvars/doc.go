// Package sqlvars puts the facts of a batch into the SQL of a pipeline file: $batch_id becomes 7. Names in texts, quoted names, comments and dollar quotes are left alone.
package sqlvars

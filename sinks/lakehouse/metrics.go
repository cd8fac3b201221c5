package lakehouse

import (
	"fmt"
	"strconv"

	"microbatch/table/action"
	"microbatch/table/merge"
)

// mergeMetrics count what an upsert does.
type mergeMetrics struct {
	merge.Result
	copied int64 // rows of rewritten files that stay as they are
}

// reads are the files whose rows the batch was matched with. Those that it takes out are known without.
func (p *pending) reads() map[action.FileKey]bool {
	reads := map[action.FileKey]bool{}
	for _, a := range p.read {
		reads[a.Key()] = true
	}
	return reads
}

// mergeInfo is the commit in words for a batch that takes the place of rows, as Spark's MERGE and overwrite write it.
func (s *Sink) mergeInfo(p *pending) action.CommitInfo {
	staged, id, blind := p.Staged(), int64(p.batch.ID), false
	info := action.CommitInfo{
		Operation: "WRITE", OperationParameters: map[string]any{"mode": "Overwrite", "partitionBy": jsonList(s.cfg.PartitionBy)}, IsolationLevel: "Serializable", BlindAppend: &blind,
		OperationMetrics: map[string]string{
			"numFiles": strconv.Itoa(staged.Files), "numRemovedFiles": strconv.Itoa(len(p.replaced)),
			"numOutputRows": decimal(staged.Rows), "numOutputBytes": decimal(staged.Bytes),
		},
		Batch: s.batchInfo(&id, p.batch.Digest.String(), p.batch.Entry),
	}
	if s.cfg.Merge.Mode == OverwritePartitions {
		info.OperationParameters["isDynamicPartitionOverwrite"] = "true"
	}
	if s.cfg.Merge.Mode == Upsert {
		r := p.merged
		info.Operation, info.OperationParameters = "MERGE", map[string]any{"predicate": jsonList(s.cfg.Merge.Keys)}
		info.OperationMetrics = map[string]string{
			"numSourceRows": decimal(p.rows + p.dropped), "numOutputRows": decimal(r.Inserted + r.Updated + r.copied),
			"numTargetRowsInserted": decimal(r.Inserted), "numTargetRowsUpdated": decimal(r.Updated), "numTargetRowsDeleted": decimal(r.Deleted), "numTargetRowsCopied": decimal(r.copied),
			"numTargetFilesAdded": strconv.Itoa(staged.Files), "numTargetFilesRemoved": strconv.Itoa(len(p.replaced)),
		}
	}
	return info
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// jsonList is how Spark writes a list of names.
func jsonList(names []string) string {
	text := "["
	for i, n := range names {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q", n)
	}
	return text + "]"
}

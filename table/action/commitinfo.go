package action

import (
	"encoding/json"
	"errors"
)

// CommitInfo says in words what a commit did. Readers must not depend on it; the field order is Spark's.
type CommitInfo struct {
	Timestamp           int64             `json:"timestamp"` // Unix milliseconds
	Operation           string            `json:"operation"`
	OperationParameters map[string]any    `json:"operationParameters"`
	ReadVersion         *int64            `json:"readVersion,omitempty"`
	IsolationLevel      string            `json:"isolationLevel,omitempty"`
	BlindAppend         *bool             `json:"isBlindAppend,omitempty"`
	OperationMetrics    map[string]string `json:"operationMetrics,omitempty"`
	UserMetadata        string            `json:"userMetadata,omitempty"`
	EngineInfo          string            `json:"engineInfo,omitempty"`
	TxnID               string            `json:"txnId,omitempty"` // fresh for each commit: how a commit whose answer was lost is known again
	Batch               *BatchInfo        `json:"microbatch,omitempty"`
}

// BatchInfo is the batch that a commit holds, or the epoch alone. With it the log tells which input each version holds.
type BatchInfo struct {
	Pipeline string `json:"pipeline"`
	Query    string `json:"query"`
	Shard    string `json:"shard,omitempty"`
	Batch    *int64 `json:"batch,omitempty"` // nil: an epoch alone
	Epoch    int64  `json:"epoch"`
	Entry    string `json:"entry"`             // entry id of the driver that committed
	Digest   string `json:"digest,omitempty"`  // sha256 of Offsets in hex
	Offsets  string `json:"offsets,omitempty"` // the text of the checkpoint's offsets/<batch>
}

// UnmarshalJSON takes what it understands: other writers put values of any type into these fields, and none of that may make a table unreadable.
func (c *CommitInfo) UnmarshalJSON(data []byte) error {
	type plain CommitInfo
	err := json.Unmarshal(data, (*plain)(c))
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil // the decoder went on behind the value that misfits
	}
	return err
}

// Package checkpointlog is the checkpoint directory of a query: numbered logs made of put-if-absent files, in the layout of Spark Structured Streaming.
//
//	metadata                      {"id":"<uuid>"}                                  the query id
//	offsets/<id>                  v1 LF {metadata JSON} LF <offset of source 0> [LF <offset of source 1> ...]
//	commits/<id>                  v1 LF {"nextBatchWatermarkMs":0,"microbatchEntry":"<epoch>.<run>"}
//	sources/<n>/                  owned by source n
//	_engine/epoch/<e>             sealed: who claimed epoch e
//	_engine/low-watermark/<id>    sealed: entries at or below id do not count any more
//
// No file ends in a line end. A sealed file is ours alone: "v1", one JSON line, and one line with the CRC32C of the JSON in hex.
//
// The package is numbers and bytes: it knows no Arrow, no sources and no tables. What it guarantees:
//
//	(C1) An entry, once readable, never changes: entries are created by put-if-absent and deleted only by purge and repair.
//	(C2) Ids are dense above the low watermark, and only the last entry of offsets may lack its commit; Recover refuses everything else.
//	(C3) The low watermark is put before anything at or below it is deleted, so a crash in the middle of a purge leaves nothing to explain.
//	(C4) Recover is a pure function of what was listed and read.
package checkpointlog

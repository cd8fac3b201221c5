// Package errcode gives every error that a user can meet a code, a class, and words for what is safe and what to do next.
//
// A Code is declared once, in the file of its range, and listed in All; docs/errors.md is made from that list:
//
//	MB10xx pipeline file and command line    MB11xx checkpoint and recovery    MB12xx table and its log
//	MB13xx stores (disk, S3)                 MB20xx Kafka source               MB21xx files and generated sources
//	MB30xx rows that do not decode           MB31xx files that do not decode   MB40xx transforms
//	MB50xx sinks other than tables           MB51xx Kafka sink
//	MB60xx engine (limits, time-outs, shutdown)
//
// Codes are append-only: a code keeps its meaning for ever.
package errcode

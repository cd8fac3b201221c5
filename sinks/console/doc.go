// Package console is a sink that prints the first rows of each batch, for trying out a pipeline.
//
// It keeps no batch ids: after a crash a batch may be printed again.
package console

// Package report shows what a running query does: one live line on a terminal, one log line per batch elsewhere, or JSON.
//
// Each reporter is an engine.Listener. The engine calls it from one goroutine at a time.
package report

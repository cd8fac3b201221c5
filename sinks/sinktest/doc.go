// Package sinktest is the conformance suite of the sink contract: each test is named after a numbered promise of package sinks.
//
// A sink that keeps no batch ids (Visible.Keeps is false) is tested for what is left: atomicity, Prepare and Abort.
package sinktest

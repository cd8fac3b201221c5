// Package proxy is a TCP forwarder that breaks connections on purpose: it stands between a program and a server, and delays, cuts, half-closes or eats what goes
// through. What happens to the n-th connection is decided by a schedule of the test's, which a seed repeats.
//
//	client ---- request ----> proxy ---- request ----> server
//	client <--- answer  ----- proxy <--- answer  ----- server
package proxy

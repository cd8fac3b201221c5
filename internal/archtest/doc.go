// Package archtest enforces who may import whom. It parses the sources in process, so that the result is never a stale cached one.
package archtest

// Package services starts real servers for tests: each on a free port of 127.0.0.1 with a throwaway folder, waited for until it answers, and ended by its own
// pid. Nothing is skipped where a server is missing: it is built or fetched into CacheDir at a pinned version, and a test that cannot have it fails.
//
// A server runs below a keeper, a few lines of shell that hold the read end of a pipe from the test process: when the test ends the server, or dies in any way,
// the pipe closes and the keeper ends the server and removes its folder. So a server may be shared by all tests of a binary (MinIO, VersityGW) and is
// still gone afterwards.
package services

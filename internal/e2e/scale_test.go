//go:build !services

package e2e

// How much TestFilesSurviveTwentyKills reads: 300,000 rows, so that it fits into `make test`.
const killFiles, killRows = 60, 5_000

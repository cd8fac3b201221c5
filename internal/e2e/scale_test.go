//go:build !services

package e2e

// How many files TestFilesSurviveTwentyKills gets before each of its twenty kills, and their rows: a million rows in all, so that it fits into `make test`.
const killFiles, killRows = 10, 5_000

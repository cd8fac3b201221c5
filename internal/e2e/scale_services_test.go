//go:build services

package e2e

// How much TestFilesSurviveTwentyKills reads: two million rows.
const killFiles, killRows = 100, 20_000

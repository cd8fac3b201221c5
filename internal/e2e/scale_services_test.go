//go:build services

package e2e

// How many files TestFilesSurviveTwentyKills gets before each of its twenty kills, and their rows: more than two million rows in all.
const killFiles, killRows = 7, 20_000

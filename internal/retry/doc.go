// Package retry repeats an operation with exponential backoff and jitter within a budget of time.
package retry

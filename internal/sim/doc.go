// Package sim simulates whole systems: a query, its checkpoint and its table, and everything that can happen to them.
package sim

// Package mem is a store in memory, for unit tests and for what need not outlive a process. It is linearizable: one mutex orders all calls.
package mem

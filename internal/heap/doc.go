// Package heap measures what code allocates, for tests that hold a reader of hostile input to bounded memory.
package heap

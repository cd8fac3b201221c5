// Package explore goes through everything that two drivers of one query can do to each other, breadth first: the real engine with the real table sink, stopped before each
// of its operations on the stores.
//
//	state       what the stores hold, and all that each driver was answered so far; random ids are named by who brought them into the world (names.go, journal.go)
//	choices     a driver's next operation is done; or it is not answered, once in a schedule, and is done at some later moment or never (run.go)
//	invariants  in every state W1 to W5 (watch.go); from chosen states on, an ending after which each row must be in the table once (endings.go)
//
// A pause of a driver, for however long, is that it is not chosen; its death is that it is never chosen again. So each state is also one in which either has died, and
// what a start makes of it is an ending. There are no locks here, as on an object store.
//
// Go's goroutines cannot be copied, so a state is kept as the schedule that leads to it, and is made anew in a testing/synctest bubble for each of its choices. That
// the same schedule leads to the same sum is checked each time.
//
// What it leaves out: answers of reads that are lost (the simulation loses them), a second lost answer, rejected rows, a repair that sleeps while others work, and what takes more
// operations than each driver may make; an ending goes on from there in five ways, not in all.
package explore

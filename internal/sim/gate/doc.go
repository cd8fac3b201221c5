// Package gate makes a simulated world of processes: every operation that a process makes on what outlives it (stores, brokers, a user's function) passes a judge, who
// decides whether it is done, whether its answer arrives, and whether the process lives on.
//
//	Fate     done            answered
//	Pass     yes             as it is
//	Fail     no              with the verdict's error
//	Lose     yes             with the verdict's error
//	Late     when the judge  with the verdict's error, at once
//	         calls Apply
//	Die      no              never: the process is gone
//	DieDone  yes             never: the process is gone
//
// A process that is gone goes on running its Go code, which cannot be stopped, but nothing it does has an effect: every operation ends with ErrGone.
//
// A judge that decides at once (JudgeFunc) makes "crash at the k-th operation" sweeps. A Floor is a judge that holds every operation until a scheduler lets it go: in a
// testing/synctest bubble, where synctest.Wait returns when all processes wait at the floor or for the clock, it makes the order of all operations of
// all processes the scheduler's choice, and a run repeatable.
//
// Of a streaming writer the beginning (create), the end (commit) and abort pass the judge, of reading an object by ranges its opening: what lies between has no effect on
// the world that another process could see.
package gate

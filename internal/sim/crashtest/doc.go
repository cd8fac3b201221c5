// Package crashtest is the crash matrix: a process dies at each operation that it does on what outlives it, and at each fault point; the next process goes on; and
// then everything has to be exact. It is all tests, and one page of docs made from their results.
//
// A sweep first runs a scenario without a death and writes down the operations, then runs it once for each of them, from the same world:
//
//	fate     the process dies                                      the operation is
//	before   when it is about to begin it                          not done
//	lost     in the middle of it                                   not done, or done in parts that nobody sees (temporary files, half a file)
//	kept     in the middle of it                                   done, and on a disk perhaps not yet durable
//	after    when it has its answer and begins the next one        done
//	late     while it waits for the answer                         done while its successor works (where a network is between)
//	unheard  not at all                                            done, and its answer is lost (where a network is between)
//
// On a disk "in the middle" is each change of the file system that the operation is made of (create, write, sync, link, the folder's sync, remove), and the death is
// that of the process alone, or a loss of power after which none, half or all of what was not synced is left.
//
// The batches go to a table, or to a target (world.Target): PostgreSQL and Kafka as models, a folder on the machine's disk, a service, the user's own code.
//
// Levels: the first run dies; a replay, which is the recovery from a death, dies too; the recovery from that dies as well. The last process always lives.
//
// Everything runs in testing/synctest bubbles: retries wait in no time, and the days that old log entries have to grow are slept through.
package crashtest

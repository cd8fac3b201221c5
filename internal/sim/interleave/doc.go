// Package interleave plays schedules: stories of several drivers in one world, told operation by operation. A test says who goes on until which operation, whose
// answer is lost, who dies where, and then what must be true.
//
//	a := s.Start("a")
//	a.Until("checkpoint putifabsent offsets/3")  // a waits there
//	b := s.Start("b")
//	b.Ends()                                     // b runs to its end, without an error
//	a.Ends(errcode.DriverFenced)                 // a wakes up and stops
//	s.Exact()                                    // the table holds each row once, and nothing else
//
// An operation is written as "place kind key"; a * in it stands for any text. Everything happens in a testing/synctest bubble: time passes only while all wait for it, and
// between two operations of the schedule nothing moves.
package interleave

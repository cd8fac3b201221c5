// Package world is what outlives simulated processes: a topic, a checkpoint, and a table or another target, on a medium that loses what such a medium can lose. Tests start
// queries in it as processes of package gate, end them, start others, and look at what is there.
//
// Two media: Objects is like S3 (no locks; what was answered is durable; several processes reach it from different machines), Disk is a local disk (one lock; what was not
// synced is lost with the power).
package world

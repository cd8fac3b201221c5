// Package e2e runs the real program as a child process: killed at random and at named points, put to sleep and overtaken, beside failing system calls, full disks,
// dying servers and bad networks, against real services, and read by other people's programs.
//
// Tests without a build tag need nothing but Go and the S3 servers that package services builds. Those with the tag "services" need root, Java, Maven, Python
// and strace, and are run by `make test-services`.
//
// Each test does a share of what it could; these variables make it do all:
//
//	MICROBATCH_KILLS=all         kill at every hit of every fault point, on disk and S3, both formats
//	MICROBATCH_TAKEOVERS=100     so many takeovers of each query
//	MICROBATCH_INJECT=all        let every single system call fail, fill the disk at every page
//	PROOF_FIGURES=file      append what was counted to a file (package figures)
package e2e

// Package pages does what the pages of docs tell a reader to do. The info string of a fenced block says what becomes of it; readers do not see more of it than the
// language:
//
//	```yaml orders.yaml    the block is written to that file
//	```sh run              its commands are typed
//	```text printed        what the commands before have printed; "…" stands for what is another each time
//	```yaml                is only looked at, and stands in testdata/illustrations.txt
//
// All blocks of a page go, in their order, through one shell in a folder that is empty at first; a command that fails ends it. What they print is their standard
// output; messages and progress, which go to standard error, are not compared.
//
// Pages name each service at its usual address. The test has it at another, and replaces the address in files and commands, and back in what they print
// (servers.usual). Kafka's scripts, psql and spark-submit are the real ones; spark-submit finds the jars of --packages on this machine.
package pages

// Command microbatch runs micro-batches from Kafka and files to lakehouse tables, exactly once.
package main

import (
	"context"
	"os"

	"microbatch/cmd/microbatch/internal/cli"
)

//go:generate go run ./internal/docgen ../..

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// Command probe has one seeded bug, to see whether a build holds it.
package main

import (
	"fmt"

	"microbatch/internal/bugs"
)

//go:noinline
func wrong() { fmt.Println("wrong") }

func main() {
	if bugs.Is(bugs.SkipTxn) {
		wrong()
	}
	fmt.Println("seeded:", bugs.Seeded)
}

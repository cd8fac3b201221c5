package twophase

import (
	"encoding/hex"
	"fmt"

	"microbatch/ident"
)

// parseDigest reads what Digest.String has written.
func parseDigest(text string) (d ident.Digest, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("twophase: %q is no digest", text)
	}
	return ident.Digest(b), nil
}

// mustParse reads a digest that this process has written.
func mustParse(text string) ident.Digest {
	d, err := parseDigest(text)
	if err != nil {
		panic(err)
	}
	return d
}

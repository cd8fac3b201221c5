//go:build !failpoints

package failpoint

// Enabled says whether the points do anything in this build.
const Enabled = false

// Hit passes a named point.
func Hit(string) {}

// Err passes a named point that can be made to return an error.
func Err(string) error { return nil }

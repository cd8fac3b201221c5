package secret

import (
	"fmt"
	"os"
	"strings"
)

// Secret is a value that must not be printed. All its textual forms are "***"; only Expose gives the value.
type Secret struct{ value string }

// Of makes a secret of a value.
func Of(value string) Secret { return Secret{value} }

// Expose is the value, to be handed to a client library and nothing else.
func (s Secret) Expose() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

// String is ***.
func (s Secret) String() string { return "***" }

// GoString is ***.
func (s Secret) GoString() string { return "***" }

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// MarshalText is ***.
func (s Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// MarshalJSON is "***".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// Resolve reads a reference: "env:NAME" an environment variable, "file:PATH" a file's content without its last line end.
func Resolve(reference string) (Secret, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch kind {
	case "env":
		v, ok := os.LookupEnv(name)
		if !ok {
			return Secret{}, fmt.Errorf("environment variable %s is not set", name)
		}
		return Of(v), nil
	case "file":
		b, err := os.ReadFile(name)
		if err != nil {
			return Secret{}, err
		}
		return Of(strings.TrimRight(string(b), "\r\n")), nil
	}
	return Secret{}, fmt.Errorf("want a reference env:NAME or file:PATH, not the secret itself")
}

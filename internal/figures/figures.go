package figures

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// Environment is the variable that names the file; without it nothing is written.
const Environment = "PROOF_FIGURES"

// line is one line of the file.
type line struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
}

// Add appends n to what a test has counted under name.
func Add(t testing.TB, name string, n int) {
	t.Helper()
	if err := Append(name, n); err != nil {
		t.Fatalf("figures: %s: %v", name, err)
	}
}

// Append appends n to what is counted under name. Tests and processes may append at once: a line is one write to a file that is only appended to.
func Append(name string, n int) (err error) {
	path := os.Getenv(Environment)
	if path == "" {
		return nil
	}
	text, err := json.Marshal(line{Name: name, Value: n})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(text, '\n'))
	return err
}

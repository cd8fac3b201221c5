package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"microbatch/internal/bench/report"
)

// unfinished is a run that has not come to its end, kept in a file: what was measured, and of what.
type unfinished struct {
	file    string
	Of      string          `json:"of"` // code and sizes
	Results []report.Result `json:"results"`
}

// resume is the run that a file keeps, if it was of the same code and sizes, or a new one.
func resume(file, of string) (*unfinished, error) {
	u := &unfinished{file: file, Of: of}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return nil, err
	}
	old := unfinished{file: file}
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if old.Of == of {
		return &old, nil
	}
	return u, nil
}

// has reports whether a workload was measured.
func (u *unfinished) has(w workload) bool {
	return slices.ContainsFunc(u.Results, func(r report.Result) bool { return r.Workload == w.Name })
}

func (u *unfinished) add(results []report.Result) error {
	for _, r := range results {
		u.Results = slices.DeleteFunc(u.Results, func(old report.Result) bool { return old.Name == r.Name })
	}
	u.Results = append(u.Results, results...)
	text, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return os.WriteFile(u.file, text, 0o644)
}

// done ends the run: the next one measures everything again.
func (u *unfinished) done() error {
	err := os.Remove(u.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

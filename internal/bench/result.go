package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is one line of bench/results.json.
type Result struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`     // of Ours and Peer
	Ours     float64  `json:"ours"`     // the median
	Peer     *float64 `json:"peer"`     // the median; null if there is none
	Ratio    *float64 `json:"ratio"`    // the median over the rounds; above 1 is better for us unless Required says "at most"
	Required string   `json:"required"` // "at least 1.2" of the ratio, or of Ours if there is none; "" if nothing is
	Spread   string   `json:"spread"`   // least to greatest of the ratio, or of Ours
	Met      *bool    `json:"met"`      // null if nothing is required
}

// A bound is what a result has to keep.
type bound struct {
	limit  float64
	atMost bool
}

func atLeast(v float64) *bound { return &bound{limit: v} }
func atMost(v float64) *bound  { return &bound{limit: v, atMost: true} }

func (b *bound) String() string {
	if b == nil {
		return ""
	}
	if b.atMost {
		return fmt.Sprintf("at most %s", digits(b.limit))
	}
	return fmt.Sprintf("at least %s", digits(b.limit))
}

// compared is a result of rounds in which both sides ran; ratio says how the two make one number.
func compared(name, unit string, ours, peer []float64, ratio func(ours, peer float64) float64, b *bound) Result {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ratio(ours[i], peer[i])
	}
	p, r := median(peer), median(ratios)
	return Result{Name: name, Unit: unit, Ours: median(ours), Peer: &p, Ratio: &r, Required: b.String(), Spread: spread(ratios), Met: b.met(r)}
}

// alone is a result without a peer.
func alone(name, unit string, ours []float64, b *bound) Result {
	return Result{Name: name, Unit: unit, Ours: median(ours), Required: b.String(), Spread: spread(ours), Met: b.met(median(ours))}
}

func (b *bound) met(v float64) *bool {
	if b == nil {
		return nil
	}
	ok := v >= b.limit
	if b.atMost {
		ok = v <= b.limit
	}
	return &ok
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func spread(v []float64) string {
	return digits(slices.Min(v)) + " to " + digits(slices.Max(v))
}

// digits is a number as short as it is useful.
func digits(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// row is a result in words.
func (r Result) row() []string {
	show := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return digits(*v)
	}
	met := "-"
	if r.Met != nil {
		met = map[bool]string{true: "yes", false: "NO"}[*r.Met]
	}
	return []string{r.Name, digits(r.Ours) + " " + r.Unit, show(r.Peer), show(r.Ratio), r.Spread, r.Required, met}
}

func header() []string {
	return []string{"what", "ours", "peer", "ratio", "spread", "required", "met"}
}

// table is the results for a terminal.
func table(all []Result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header(), "\t"))
	for _, r := range all {
		fmt.Fprintln(w, strings.Join(r.row(), "\t"))
	}
	w.Flush()
	return b.String()
}

// save writes the results for programs and for people. Results of parts that did not run are kept.
func save(out string, all []Result) error {
	file := filepath.Join(out, "bench", "results.json")
	all, err := merge(file, all)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "docs", "benchmarks.md"), []byte(page(all)), 0o644)
}

// merge replaces results of a former run by new ones of the same name.
func merge(file string, all []Result) ([]Result, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	var old []Result
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range all {
		if i := slices.IndexFunc(old, func(o Result) bool { return o.Name == r.Name }); i >= 0 {
			old[i] = r
		} else {
			old = append(old, r)
		}
	}
	return old, nil
}

func page(all []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Benchmarks

Written by `+"`make bench`"+` (`+"`internal/bench`"+`, whose package comment says how it measures). Last on %s/%s, %d processors, %s. What counts are the ratios:
both sides ran in turns on the same machine, and a ratio is taken within a round; shown are the median, and the least and the greatest of the rounds.

`, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(header(), " | "), strings.Repeat("---|", len(header())))
	for _, r := range all {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.row(), " | "))
	}
	return b.String()
}

// verdict is an error if something that is required is not met.
func verdict(all []Result) error {
	var missed []string
	for _, r := range all {
		if r.Met != nil && !*r.Met {
			missed = append(missed, r.Name)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("not met: %s", strings.Join(missed, "; "))
	}
	return nil
}

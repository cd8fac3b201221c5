package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is a measured row: one object of bench/results.json.
type Result struct {
	Workload string   `json:"workload"`
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`     // of Ours and Peer
	Ours     float64  `json:"ours"`     // the median
	Peer     *float64 `json:"peer"`     // the median; null if there is none
	Ratio    *float64 `json:"ratio"`    // the median over the rounds, each of which has its own
	Required string   `json:"required"` // "at least 2.50" of the ratio, or of Ours if there is none; "" if nothing is
	Spread   string   `json:"spread"`   // least to greatest of the ratio, or of Ours
	Met      *bool    `json:"met"`      // null if nothing is required
	Aim      string   `json:"aim,omitempty"`
	Rounds   int      `json:"rounds"`
	Commit   string   `json:"commit"` // of the code that was measured; "+..." if it had changes that were not committed
	Date     string   `json:"date"`
	Machine  string   `json:"machine"`
	Note     string   `json:"note,omitempty"`
}

// Run is what all results of a run have in common.
type Run struct {
	Commit, Date, Machine string
}

// Result makes a result of a row's samples.
func (r Row) Result(workload string, s Samples, run Run) Result {
	out := Result{
		Workload: workload, Name: r.Name, Unit: r.Unit, Ours: Median(s.Ours), Required: r.Required.String(), Aim: r.Aim.String(),
		Rounds: len(s.Ours), Commit: run.Commit, Date: run.Date, Machine: run.Machine, Note: s.Note,
	}
	if r.Ratio == Alone {
		out.Spread, out.Met = spread(s.Ours), r.Required.met(out.Ours)
		return out
	}
	ratios := make([]float64, len(s.Ours))
	for i := range ratios {
		ratios[i] = r.Ratio.of(s.Ours[i], s.Peer[i])
	}
	peer, ratio := Median(s.Peer), Median(ratios)
	out.Peer, out.Ratio, out.Spread, out.Met = &peer, &ratio, spread(ratios), r.Required.met(ratio)
	return out
}

// figure is the number that counts.
func (r Result) figure() float64 {
	if r.Ratio != nil {
		return *r.Ratio
	}
	return r.Ours
}

// Load reads a results.json; a missing one is empty.
func Load(file string) ([]Result, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Result
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// Save writes a results.json: what is new replaces what was measured before under the same name, in the order of the sections. Rows that no section has any
// more are dropped.
func Save(file string, sections []Section, fresh []Result) ([]Result, error) {
	old, err := Load(file)
	if err != nil {
		return nil, err
	}
	all := make([]Result, 0, len(old)+len(fresh))
	for _, s := range sections {
		for _, row := range s.Rows {
			if r, ok := find(fresh, row.Name); ok {
				all = append(all, r)
			} else if r, ok := find(old, row.Name); ok {
				all = append(all, r)
			}
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return all, write(file, append(text, '\n'))
}

func find(all []Result, name string) (Result, bool) {
	i := slices.IndexFunc(all, func(r Result) bool { return r.Name == name })
	if i < 0 {
		return Result{}, false
	}
	return all[i], true
}

// write replaces a file as a whole: a run that is ended leaves the old one or the new one.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".tmp", content, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

func header() []string {
	return []string{"what", "ours", "peer", "ratio", "spread", "required", "aim", "met", "commit"}
}

func (r Result) cells() []string {
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
	return []string{r.Name, digits(r.Ours) + " " + r.Unit, show(r.Peer), show(r.Ratio), r.Spread, r.Required, r.Aim, met, r.Commit}
}

// Table is the results for a terminal.
func Table(all []Result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header(), "\t"))
	for _, r := range all {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	w.Flush()
	return b.String()
}

// Missed are the names of results that do not keep what is required.
func Missed(all []Result) []string {
	var out []string
	for _, r := range all {
		if r.Met != nil && !*r.Met {
			out = append(out, r.Name)
		}
	}
	return out
}

// Older are the workloads that were measured at another commit, with that.
func Older(all []Result, commit string) []string {
	var out []string
	for _, r := range all {
		if line := fmt.Sprintf("%s (%s)", r.Workload, r.Commit); r.Commit != commit && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

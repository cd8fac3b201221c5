package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"time"

	"microbatch/internal/bugs"
)

func main() {
	only := flag.String("only", "", "a bug, by number or name")
	part := flag.String("share", "1/1", "k/n: every n-th bug, from the k-th on")
	file := flag.String("json", "", "a file for the figures")
	docs := flag.Bool("docs", false, "only write docs/museum.md")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "how many tests run at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *docs {
		err = writePage(".")
	} else {
		err = show(ctx, *only, *part, *file, *jobs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "museum:", err)
		os.Exit(1)
	}
}

// figures is what --json writes.
type figures struct {
	Caught  int      `json:"caught"`
	Total   int      `json:"total"`
	Seconds float64  `json:"seconds"`
	Bugs    []result `json:"bugs"`
}

// show runs the chosen exhibits and prints what was caught. An error: not all.
func show(ctx context.Context, only, part, file string, jobs int) error {
	chosen, err := choose(only, part)
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := newRunner(jobs).run(ctx, chosen)
	if err != nil {
		return err
	}
	f := figures{Total: len(results), Seconds: time.Since(began).Seconds(), Bugs: results}
	for _, r := range results {
		if r.Caught {
			f.Caught++
		}
	}
	if file != "" {
		data, err := json.MarshalIndent(f, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o666)
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("caught %d/%d in %.0f s\n", f.Caught, f.Total, f.Seconds)
	if f.Caught < f.Total {
		return fmt.Errorf("%d not caught", f.Total-f.Caught)
	}
	return nil
}

// choose are the exhibits of a share, or one.
func choose(only, part string) (chosen []exhibit, err error) {
	if only != "" {
		b, ok := bugs.Parse(only)
		i := slices.IndexFunc(exhibits, func(e exhibit) bool { return e.bug == b })
		if !ok || i < 0 {
			return nil, fmt.Errorf("there is no bug %q", only)
		}
		return exhibits[i : i+1], nil
	}
	var k, n int
	if _, err := fmt.Sscanf(part, "%d/%d", &k, &n); err != nil || k < 1 || k > n || part != strconv.Itoa(k)+"/"+strconv.Itoa(n) {
		return nil, fmt.Errorf("share %q: want k/n with 1 <= k <= n", part)
	}
	for i := k - 1; i < len(exhibits); i += n {
		chosen = append(chosen, exhibits[i])
	}
	return chosen, nil
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"time"

	"microbatch/internal/bugs"
	"microbatch/internal/figures"
)

func main() {
	only := flag.String("only", "", "a bug, by number or name")
	part := flag.String("share", "1/1", "k/n: every n-th bug, from the k-th on")
	docs := flag.Bool("docs", false, "only write docs/museum.md")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "how many tests run at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *docs {
		err = writePage(".")
	} else {
		err = show(ctx, *only, *part, *jobs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "museum:", err)
		os.Exit(1)
	}
}

// show runs the chosen exhibits, and prints and counts what was caught. An error: not all.
func show(ctx context.Context, only, part string, jobs int) error {
	chosen, err := choose(only, part)
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := newRunner(jobs).run(ctx, chosen)
	if err != nil {
		return err
	}
	caught := 0
	for _, r := range results {
		if r.Caught {
			caught++
		}
	}
	fmt.Printf("caught %d/%d in %.0f s\n", caught, len(results), time.Since(began).Seconds())
	if err := errors.Join(figures.Append("seeded bugs", len(results)), figures.Append("seeded bugs caught", caught)); err != nil {
		return err
	}
	if caught < len(results) {
		return fmt.Errorf("%d not caught", len(results)-caught)
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

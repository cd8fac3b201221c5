package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"microbatch/checker"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/pipeline"
	"microbatch/table"
)

// against compares a table with a checkpoint.
type against struct {
	checkpoint string
	rejected   string
	limit      int
}

func (a *against) add(c *cobra.Command) {
	c.Flags().StringVar(&a.checkpoint, "against-checkpoint", "", "compare with the checkpoint at this `path`, or with that of a pipeline file")
	c.Flags().StringVar(&a.rejected, "rejected", "", "with --against-checkpoint: the `path` of the table of rejected rows; left out: as the pipeline file says, or <table>_rejected")
	c.Flags().IntVar(&a.limit, "limit", 20, "with --against-checkpoint: how many `batches` are listed; 0: all")
}

// flagless says so if a flag that means nothing without --against-checkpoint was given: whoever gives it believes that a comparison was made.
func (a *against) flagless(c *cobra.Command) error {
	for _, name := range []string{"rejected", "limit"} {
		if c.Flags().Changed(name) {
			return errcode.Usage.New("", "--%s has no meaning without --against-checkpoint", name)
		}
	}
	return nil
}

func (a *against) run(ctx context.Context, std IO, f *storeFlags, args []string, asJSON bool) error {
	if a.limit < 0 {
		return errcode.Usage.New("", "--limit %d: want a number of batches, or 0 for all", a.limit)
	}
	in, path, err := a.input(ctx, f, args)
	if err != nil {
		return err
	}
	return a.compare(ctx, std, in, path, asJSON)
}

// compare verifies and shows.
func (a *against) compare(ctx context.Context, std IO, in checker.Input, path string, asJSON bool) error {
	done := progressTo(std.Err)
	in.Progress = done.show
	r, err := checker.Check(ctx, in)
	done.end()
	if err != nil {
		return err
	}
	if r.Version < 0 && len(r.Violations) == 0 {
		return noTable(path)
	}
	if asJSON {
		if err := writeJSON(std.Out, r); err != nil {
			return err
		}
	} else {
		a.show(shown(std.Out), path, in, r)
	}
	if n := len(r.Violations); n > 0 {
		return errcode.TableDisagrees.New(path, "%s, the first: %s: %s", plural(n, "violation"), r.Violations[0].Where, r.Violations[0].What).Advise("%s", advice(r.Violations[0].Rule))
	}
	return nil
}

// input finds the three places.
func (a *against) input(ctx context.Context, f *storeFlags, args []string) (in checker.Input, path string, err error) {
	rejected := a.rejected
	in.Table, path, err = f.place(ctx, args, func(c *pipeline.Config) (string, error) {
		if c.Sink.Table == nil {
			return "", errcode.Usage.New(c.File(), "the pipeline writes no table")
		}
		if rejected == "" && c.Rejected != nil {
			rejected = c.Rejected.Table
		}
		return c.Sink.Table.Path, nil
	})
	if err != nil {
		return in, path, err
	}
	in.Checkpoint, _, err = f.place(ctx, []string{a.checkpoint}, func(c *pipeline.Config) (string, error) {
		if rejected == "" && c.Rejected != nil {
			rejected = c.Rejected.Table
		}
		return c.Checkpoint, nil
	})
	if err == nil {
		err = someCheckpoint(ctx, in.Checkpoint)
	}
	if err != nil {
		return in, path, err
	}
	in.Rejected, err = f.rejected(ctx, args, cmp.Or(rejected, besides(path)))
	if err == nil && a.rejected != "" { // one that was named has to be there; otherwise it comes with the first rejected row
		_, err = table.Open(ctx, in.Rejected, table.Options{})
		if errors.Is(err, fs.ErrNotExist) {
			err = noTable(a.rejected)
		}
	}
	return in, path, err
}

// besides is where the rejected rows of a table are unless the pipeline file says otherwise.
func besides(table string) string { return strings.TrimRight(table, "/") + "_rejected" }

// someCheckpoint says so if nothing of a checkpoint is at its place: then the path is wrong, or it was deleted.
func someCheckpoint(ctx context.Context, s objstore.Store) error {
	for _, part := range []string{"metadata", "offsets/", "commits/", "_engine/"} {
		for _, err := range s.List(ctx, part, "") {
			return err
		}
	}
	return errcode.Usage.New(s.URL(), "there is no checkpoint").
		Advise("If the path is right and the checkpoint was deleted: `microbatch checkpoint repair` rebuilds it from the table.")
}

// rejected is the table of rejected rows, reached as the table itself.
func (f *storeFlags) rejected(ctx context.Context, args []string, path string) (objstore.Store, error) {
	if len(args) == 0 || isPipelineFile(args[0]) {
		s, _, err := f.place(ctx, args, func(*pipeline.Config) (string, error) { return path, nil })
		return s, err
	}
	stores, _, err := f.stores()
	if err != nil {
		return nil, err
	}
	return stores.At(ctx, path)
}

func (a *against) show(out io.Writer, path string, in checker.Input, r *checker.Report) {
	rows := "an unknown number of rows"
	if r.Rows >= 0 {
		rows = plural(int(r.Rows), "row")
	}
	if r.Version < 0 {
		fmt.Fprintf(out, "table       %s, where there is none\n", path)
	} else {
		fmt.Fprintf(out, "table       %s, version %d, %s; the log goes back to version %d\n", path, r.Version, rows, r.Oldest)
	}
	fmt.Fprintf(out, "checkpoint  %s, query %s\n", in.Checkpoint.URL(), cmp.Or(r.Query, "unknown"))
	a.showBatches(out, r)
	broken := showRules(out, r, checked())
	for _, n := range append(standing(r.Batches), r.Notices...) {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	if n := len(r.Orphans); n > 0 && broken[checker.Log] == 0 { // else the versions that are missing may name them
		fmt.Fprintf(out, "note: %s that the log does not name, of attempts that failed or still run; `microbatch table vacuum` takes them when they are old enough\n", plural(n, "data file"))
	}
	for _, v := range r.Violations {
		fmt.Fprintf(out, "%s: %s: %s\n  next: %s\n", v.Rule, v.Where, v.What, advice(v.Rule))
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(out, verdict(r.Batches))
	}
}

// showRules says of each rule whether it holds. The result is how often each is broken.
func showRules(out io.Writer, r *checker.Report, rules []ruled) (broken map[checker.Rule]int) {
	broken = map[checker.Rule]int{}
	for _, v := range r.Violations {
		broken[v.Rule]++
	}
	compared := "compared"
	if broken[checker.Log] > 0 {
		compared += ", as far as the log is whole"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range rules {
		switch n := broken[line.rule]; {
		case n > 0:
			fmt.Fprintf(w, "%s\t%s\t%s\n", line.rule, "WRONG", plural(n, "violation"))
		case r.Counts[line.rule] == 0:
			fmt.Fprintf(w, "%s\t%s\tnothing to compare\n", line.rule, "-")
		default:
			fmt.Fprintf(w, "%s\t%s\t%s (%d %s)\n", line.rule, "ok", line.what, r.Counts[line.rule], compared)
		}
	}
	w.Flush() // the writer below never fails
	return broken
}

// showBatches lists the newest batches.
func (a *against) showBatches(out io.Writer, r *checker.Report) {
	batches := r.Batches
	if a.limit > 0 && len(batches) > a.limit {
		fmt.Fprintf(out, "%d batches, the newest %d:\n", len(batches), a.limit)
		batches = batches[len(batches)-a.limit:]
	}
	if len(batches) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BATCH\tVERSION\tEPOCH\tDIGEST\tRECORDED\tREAD\tROWS\tREJECTED")
	for _, b := range batches {
		recorded := "yes"
		if b.Lost {
			recorded = "lost"
		} else if !b.Recorded {
			recorded = "no"
		}
		if b.Digest == "purged" { // and its entry of commits with it
			recorded = "purged"
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", b.ID, known(b.Version), b.Epoch, b.Digest, recorded, known(b.Input), known(b.Rows), known(b.Rejected))
	}
	w.Flush() // the writer below never fails
	showSums(out, r.Batches)
}

// standing says in what state batches are that are not simply done.
func standing(batches []checker.Batch) (notes []string) {
	purged := 0
	for n, b := range batches {
		switch {
		case b.Digest == "purged":
			purged++
		case b.Lost:
			notes = append(notes, lost(b, n == len(batches)-1))
		case b.Recorded, b.Digest == "missing": // a batch without its entry is a violation
		case b.Version >= 0:
			notes = append(notes, fmt.Sprintf("batch %d is in the table and not recorded yet: the running query, or the next start, records it", b.ID))
		default:
			notes = append(notes, fmt.Sprintf("batch %d is fixed and not in the table yet: the running query, or the next start, runs it", b.ID))
		}
	}
	if purged > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d without an entry in the checkpoint any more, which keeps the newest: compared within the table's log alone", plural(purged, "batch"), len(batches)))
	}
	return notes
}

// lost says that a batch was recorded before it was committed, and is not in the table.
func lost(b checker.Batch, newest bool) string {
	text := fmt.Sprintf("at most once: batch %d was recorded and is not in the table: its rows are lost", b.ID)
	if newest {
		text += ", unless the running query is just about to commit it"
	}
	return text
}

// verdict is the last line where nothing is wrong.
func verdict(batches []checker.Batch) string {
	n := 0
	for _, b := range batches {
		if b.Lost {
			n++
		}
	}
	if n == 0 {
		return "the table is exactly what the checkpoint claims"
	}
	return fmt.Sprintf("the table is what the checkpoint claims but for %s, which at most once allows: no row is there twice", plural(n, "batch"))
}

// showSums adds up the batches of which all is known.
func showSums(out io.Writer, batches []checker.Batch) {
	var n, read, rows, rejected int64
	for _, b := range batches {
		if b.Replaces { // rows replace each other: they do not add up
			return
		}
		if b.Input >= 0 && b.Rows >= 0 {
			n, read, rows, rejected = n+1, read+b.Input, rows+b.Rows, rejected+max(0, b.Rejected)
		}
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(out, "%s: %d records in their ranges, %d rows in the table, %d rejected", plural(int(n), "batch"), read, rows, rejected)
	switch rest := read - rows - rejected; {
	case rest > 0:
		fmt.Fprintf(out, "; %d are neither: filtered, or holes of transactions and compaction\n", rest)
	case rest < 0:
		fmt.Fprintf(out, "; %d more than were read: the pipeline makes several rows of one\n", -rest)
	default:
		fmt.Fprintln(out, ": nothing is left over")
	}
}

// known is a number, or a dash for -1.
func known(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ruled is a rule, and what holds if it does.
type ruled struct {
	rule checker.Rule
	what string
}

// checked are the rules that can be verified without knowing the input, with what they count.
func checked() []ruled {
	return []ruled{
		{checker.Log, "no version is missing, and each is whole and stays as it is"},
		{checker.Files, "each file comes once, goes once, is there, and as long as the log says"},
		{checker.Summary, "the newest log checkpoint is what the versions up to it add up to"},
		{checker.Txn, "the batches in the log are 0, 1, 2, ..., each once"},
		{checker.Epoch, "epochs never fall, and were claimed by the run that committed"},
		{checker.Digest, "the offsets of each batch are those that were committed with it"},
		{checker.IDs, "each recorded batch is in the table, and no other; entries have no holes"},
		{checker.Ranges, "each batch begins where the one before ends, and never goes back"},
		{checker.Count, "commitInfo, statistics and files count the same rows"},
		{checker.Rejected, "rejected rows belong to batches that are fixed"},
	}
}

// advice is what to do about a violation.
func advice(r checker.Rule) string {
	switch r {
	case checker.Log, checker.Summary:
		return "restore the named file of the log from a backup; what was written after it is in doubt"
	case checker.Files:
		return "restore the named file from a backup; if the log names it wrongly, another program has changed the log"
	case checker.Txn, checker.Epoch:
		return "find out who else writes under this query id: stop it, and keep both logs for a report"
	case checker.Digest:
		return "if the checkpoint was copied or restored and ran on elsewhere, use the copy that the table agrees with; if the entry was edited, move it away, and `microbatch checkpoint repair` rebuilds it from the table's log"
	case checker.IDs, checker.Ranges:
		return "see `microbatch checkpoint repair --dry-run`, which rebuilds what the table's log proves; if the paths are right and the table is the older one, restore its newest version, or run the lost batches again with --rewind"
	case checker.Count:
		return "compare the named file with a backup; if its rows are right, the log's numbers are wrong, and so may be `count(*)` of readers that trust them"
	case checker.Rejected:
		return "look at `microbatch rejected show` for that batch; the table of rejected rows was changed or restored apart from the main one"
	}
	return "keep table and checkpoint as they are and report it"
}

// progress shows how far a long check is: one line that is overwritten on a terminal, a line now and then elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	last     time.Time
	shown    bool
}

func progressTo(out io.Writer) *progress {
	_, terminal := isTerminal(out)
	return &progress{out: out, terminal: terminal, last: time.Now()}
}

func (p *progress) show(what string, done, all int64) {
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	if time.Since(p.last) < every {
		return
	}
	p.last, p.shown = time.Now(), true
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%d of %d %s", done, all, what)
		return
	}
	fmt.Fprintf(p.out, "%d of %d %s\n", done, all, what)
}

// end takes the line away.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

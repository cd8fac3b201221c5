package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"microbatch/checker"
	"microbatch/internal/errcode"
	"microbatch/pipeline"
)

func checkpointCheck(std IO) *cobra.Command {
	var f pipelineFlags
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [pipeline.yaml]",
		Short: "Say whether the sink holds what the checkpoint claims",
		Long: `Say whether the sink holds what the checkpoint claims: every recorded batch and no other, with the digest of its offsets, by a run that had claimed its epoch.
The sink is asked by readers that share no code with the engine and its sinks:

  table         as microbatch table check --against-checkpoint: every version of its log, and every file
  kafka         the marker, read when no transaction of the query is about to end
  postgres      the query's row of microbatch_positions; for foreachbatch with sql too
  files         the ledger, and every batch's folder: it is whole, or a reader has deleted it
  foreachbatch  with duckdb: the ledger in the database
  http, console, foreachbatch with command: they keep no batches; the checkpoint alone is checked

Of sinks that are no tables the rows are not read. Nothing is written; a query may run meanwhile. Nothing is locked but a DuckDB file, for the moment that it is read. Exit code 3 if something is wrong.`,
		Example: "  microbatch checkpoint check orders.yaml\n  microbatch checkpoint check orders.yaml --limit 0\n  microbatch checkpoint check orders.yaml --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return errcode.Usage.New("", "--limit %d: want a number of batches, or 0 for all", limit)
			}
			c, err := f.load(args)
			if err != nil {
				return err
			}
			return (&sinkCheck{config: c, limit: limit, asJSON: asJSON}).run(cmd.Context(), std)
		},
	}
	f.add(c)
	c.Flags().IntVar(&limit, "limit", 20, "how many `batches` are listed; 0: all")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}

// sinkCheck compares a pipeline's sink with its checkpoint.
type sinkCheck struct {
	config *pipeline.Config
	limit  int
	asJSON bool
}

func (s *sinkCheck) run(ctx context.Context, std IO) error {
	c, stores := s.config, pipeline.NewStores(s.config)
	checkpoint, err := stores.At(ctx, c.Checkpoint)
	if err == nil {
		err = someCheckpoint(ctx, checkpoint)
	}
	if err != nil {
		return err
	}
	target, what := pipeline.Target(c)
	in := checker.TargetInput{Target: target, Checkpoint: checkpoint}
	rejected := ""
	switch {
	case c.Rejected != nil:
		rejected = c.Rejected.Table
	case target == nil:
		rejected = besides(c.Sink.Table.Path)
	}
	if rejected != "" {
		if in.Rejected, err = stores.At(ctx, rejected); err != nil {
			return err
		}
	}
	if target != nil {
		return s.compare(ctx, std, in, what)
	}
	table := checker.Input{Checkpoint: checkpoint, Rejected: in.Rejected}
	if table.Table, err = stores.At(ctx, c.Sink.Table.Path); err != nil {
		return err
	}
	return (&against{limit: s.limit}).compare(ctx, std, table, c.Sink.Table.Path, s.asJSON)
}

// compare verifies and shows.
func (s *sinkCheck) compare(ctx context.Context, std IO, in checker.TargetInput, what string) error {
	done := progressTo(std.Err)
	in.Progress = done.show
	r, err := checker.CheckTarget(ctx, in)
	done.end()
	if err != nil {
		return err
	}
	if s.asJSON {
		if err := writeJSON(std.Out, r); err != nil {
			return err
		}
	} else {
		s.show(shown(std.Out), what, in, r)
	}
	if n := len(r.Violations); n > 0 {
		return errcode.SinkDisagrees.New(what, "%s, the first: %s: %s", plural(n, "violation"), r.Violations[0].Where, r.Violations[0].What).Advise("%s", sinkAdvice(r.Violations[0].Rule))
	}
	return nil
}

func (s *sinkCheck) show(out io.Writer, what string, in checker.TargetInput, r *checker.Report) {
	fmt.Fprintf(out, "sink        %s, %s\n", what, standsAt(r.Position))
	fmt.Fprintf(out, "checkpoint  %s, query %s\n", in.Checkpoint.URL(), cmp.Or(r.Query, "unknown"))
	s.showBatches(out, r)
	_, keeper := in.Target.(checker.Keeper)
	showRules(out, r, sinkRules(r, keeper))
	for _, n := range append(sinkStanding(r), r.Notices...) {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(out, "%s: %s: %s\n  next: %s\n", v.Rule, v.Where, v.What, sinkAdvice(v.Rule))
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(out, sinkVerdict(r))
	}
}

// keeps reports whether the sink knows of batches.
func keeps(r *checker.Report) bool { return r.Position != nil && r.Position.Keeps }

func standsAt(p *checker.Position) string {
	switch {
	case p == nil:
		return "not asked: the checkpoint has no query yet"
	case !p.Keeps:
		return "which keeps no batches"
	case p.Batch < 0 && p.Epoch == 0:
		return "which holds no batch of the query"
	case p.Batch < 0:
		return fmt.Sprintf("which holds no batch yet, epoch %d", p.Epoch)
	}
	return fmt.Sprintf("batch %d, digest %.12s, epoch %d", p.Batch, p.Digest, p.Epoch)
}

// showBatches lists the newest batches.
func (s *sinkCheck) showBatches(out io.Writer, r *checker.Report) {
	batches := r.Batches
	if s.limit > 0 && len(batches) > s.limit {
		fmt.Fprintf(out, "%d batches, the newest %d:\n", len(batches), s.limit)
		batches = batches[len(batches)-s.limit:]
	}
	if len(batches) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BATCH\tIN SINK\tRECORDED\tREAD\tROWS\tREJECTED")
	for i := range batches {
		b := &batches[i]
		recorded := "yes"
		if !b.Recorded {
			recorded = "no"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", b.ID, inSink(r, b), recorded, known(b.Input), known(b.Rows), known(b.Rejected))
	}
	w.Flush() // the writer below never fails
}

// inSink says whether the sink holds a batch.
func inSink(r *checker.Report, b *checker.Batch) string {
	switch {
	case !keeps(r):
		return "-"
	case b.Lost:
		return "lost"
	case b.ID > r.Position.Batch:
		return "no"
	}
	return "yes"
}

// sinkRules are the rules that can be verified, with what they count.
func sinkRules(r *checker.Report, keeper bool) (rules []ruled) {
	if !keeps(r) {
		rules = []ruled{{checker.IDs, "entries have no holes, and one batch at most is pending"}}
	} else {
		rules = []ruled{
			{checker.IDs, "each recorded batch is in the sink, and no other; entries have no holes"},
			{checker.Digest, "the offsets of the sink's batches are those that were committed with them"},
			{checker.Epoch, "epochs were claimed by the run that committed"},
		}
	}
	if keeper {
		rules = append(rules, ruled{checker.Txn, "the batches that the sink lists follow each other, each once"}, ruled{checker.Files, "each batch is whole: its files are there, as long as its record says"})
	}
	rules = append(rules, ruled{checker.Ranges, "each batch begins where the one before ends, and never goes back"}, ruled{checker.Rejected, "rejected rows belong to batches that are fixed"})
	for _, more := range checked() { // of the table of rejected rows
		if r.Counts[more.rule] > 0 && !has(rules, more.rule) {
			rules = append(rules, ruled{more.rule, "of the rejected rows: " + more.what})
		}
	}
	return rules
}

func has(rules []ruled, rule checker.Rule) bool {
	for _, r := range rules {
		if r.rule == rule {
			return true
		}
	}
	return false
}

// sinkStanding says in what state batches are that are not simply done.
func sinkStanding(r *checker.Report) (notes []string) {
	if !keeps(r) {
		if r.Position != nil {
			notes = append(notes, "what the sink holds cannot be compared: it keeps no batches, so it tells nobody which it has. A batch that is not recorded may be there already, in part or whole")
		}
		return notes
	}
	for n, b := range r.Batches {
		switch {
		case b.Lost:
			notes = append(notes, strings.Replace(lost(b, n == len(r.Batches)-1), "in the table", "in the sink", 1))
		case b.Recorded:
		case b.ID <= r.Position.Batch:
			notes = append(notes, fmt.Sprintf("batch %d is in the sink and not recorded yet: the running query, or the next start, records it", b.ID))
		default:
			notes = append(notes, fmt.Sprintf("batch %d is fixed and not in the sink yet: the running query, or the next start, runs it", b.ID))
		}
	}
	return notes
}

// sinkVerdict is the last line where nothing is wrong.
func sinkVerdict(r *checker.Report) string {
	if !keeps(r) {
		return "the checkpoint is in order; the sink cannot be compared"
	}
	n := 0
	for _, b := range r.Batches {
		if b.Lost {
			n++
		}
	}
	if n == 0 {
		return "the sink holds exactly the batches that the checkpoint claims"
	}
	return fmt.Sprintf("the sink holds the batches that the checkpoint claims but for %s, which at most once allows: no batch is there twice", plural(n, "batch"))
}

// sinkAdvice is what to do about a violation.
func sinkAdvice(r checker.Rule) string {
	switch r {
	case checker.IDs, checker.Txn:
		return "find out which of the two is a copy or was restored, and put the other one of the same moment in its place; `microbatch validate` says what a start would do"
	case checker.Digest:
		return "if the checkpoint was copied or restored and ran on elsewhere, use the copy that the sink agrees with; if an entry or the position was edited, restore it"
	case checker.Epoch:
		return "find out who else writes under this query id, or has changed the position: stop it, and keep both for a report"
	case checker.Files:
		return "if a reader is deleting the batch's folder just now, check again; otherwise restore the file that is named from a copy"
	case checker.Ranges:
		return "see `microbatch checkpoint show`: an entry of the checkpoint was edited, or comes from another one"
	}
	return advice(r)
}

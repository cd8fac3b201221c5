package guarantee

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Chain is a pipeline as plain data.
type Chain struct {
	Links []Link // in the order that a row takes
	// AtMostOnce: a batch is recorded before it is committed, so that none is ever committed a second time.
	AtMostOnce   bool
	Every        time.Duration // of the trigger; 0: back to back
	Once         bool          // the run stops when it has caught up
	BatchTimeout time.Duration // 0: none
	DropsRows    bool          // rows that do not decode are dropped
}

// Result is what a pipeline promises.
type Result struct {
	Level    Level  `json:"level"`
	Sentence string `json:"sentence"` // the level and its reason, in one line
	// Weakest are the parts whose links make the level what it is; none if it is exactly once.
	Weakest []string `json:"weakest"`
	Links   []Link   `json:"links"`
	// Visible says when readers see rows, as it stands after "rows are visible".
	Visible string `json:"visible"`
	// Readers are what programs that read the sink have to do.
	Readers  []string `json:"readers"`
	Warnings []string `json:"warnings"`
}

// plausibleOutage is how long a query may be away without anybody having been careless: a long weekend.
const plausibleOutage = 72 * time.Hour

// Compute says what a chain of links promises. It is a function of the chain alone.
func Compute(c Chain) Result {
	var weakest []Link
	r := Result{Weakest: []string{}, Readers: []string{}, Warnings: []string{}, Visible: c.visible()}
	for _, l := range c.Links {
		l = c.inEffect(l)
		r.Links = append(r.Links, l)
		r.Level |= l.Level
		if l.Level != ExactlyOnce {
			weakest = append(weakest, l)
			r.Weakest = append(r.Weakest, l.Part)
		}
	}
	if n := len(r.Links); n > 0 {
		r.Readers = append(r.Readers, r.Links[n-1].Readers...)
	}
	r.Sentence = sentence(r.Level, weakest)
	r.Warnings = append(r.Warnings, c.warnings()...)
	return r
}

// inEffect is a link as it works in this chain: what repeats rows is a batch that runs again, and one that is recorded before its commit never does.
func (c Chain) inEffect(l Link) Link {
	if c.AtMostOnce && l.Level&AtLeastOnce != 0 && !l.Repeats {
		l.Level &^= AtLeastOnce
		l.Reason, l.Remedy = "a batch is recorded before it gets here, and one that is recorded never comes again", ""
	}
	return l
}

func sentence(level Level, weakest []Link) string {
	switch level {
	case ExactlyOnce:
		return "exactly once: no link may lose or repeat a row"
	case Neither:
		return fmt.Sprintf("%s: rows may be lost, and may come twice; %s", level, because(weakest))
	}
	return fmt.Sprintf("%s: %s", level, because(weakest))
}

// because names the links that are to blame.
func because(links []Link) string {
	var out []string
	for _, l := range links {
		out = append(out, fmt.Sprintf("%s is %s, because %s", l.Name, l.Level, l.Reason))
	}
	return strings.Join(out, "; ")
}

// visible says when readers see rows that have just come to the source, as it stands after "rows are visible".
func (c Chain) visible() string {
	var text string
	switch {
	case c.Once:
		text = "in this run if they were there when it began, in a later one otherwise"
	case c.Every == 0:
		text = "when the batch under way and the next one, which takes them, are done"
	default:
		text = fmt.Sprintf("within %s (trigger.every) and the time that their batch takes; later while there is a backlog", short(c.Every))
	}
	for _, l := range slices.Backward(c.Links) {
		if l.Visible != "" {
			return text + "; " + l.Visible
		}
	}
	return text
}

// warnings are those of the links, and those that only the links together give.
func (c Chain) warnings() (out []string) {
	for _, l := range c.Links {
		for _, w := range l.Warnings {
			out = append(out, l.Part+": "+w)
		}
		if l.Retention > 0 && l.Retention < plausibleOutage {
			out = append(out, fmt.Sprintf("%s: rows are kept for %s: a query that is away for a long weekend (%s) loses what it has not read", l.Part, short(l.Retention), short(plausibleOutage)))
		}
		if l.BatchLimit > 0 && (c.BatchTimeout == 0 || c.BatchTimeout >= l.BatchLimit) {
			out = append(out, fmt.Sprintf("%s: a batch that takes longer than %s is given up by the service and runs again for ever: set batch_timeout below it, with trigger.max_rows small enough to keep it, or raise the limit", l.Part, short(l.BatchLimit)))
		}
		if kept := c.retention(); l.Window > 0 && (kept == 0 || kept > l.Window) {
			out = append(out, fmt.Sprintf("%s: equal rows are recognised within %s, and the source may hold rows that are older: a repeat that comes later stays", l.Part, short(l.Window)))
		}
	}
	if c.DropsRows {
		out = append(out, "source: rows that do not decode are dropped and counted, and nothing keeps them (on_error: drop)")
	}
	if c.BatchTimeout == 0 {
		out = append(out, "batches: batch_timeout is not set, so a batch that hangs is never given up")
	}
	return out
}

// retention is how long the source keeps rows; 0 if that is not known.
func (c Chain) retention() (kept time.Duration) {
	for _, l := range c.Links {
		kept = max(kept, l.Retention)
	}
	return kept
}

// short is a duration without the units that are zero: 72h, not 72h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

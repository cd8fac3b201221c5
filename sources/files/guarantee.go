package files

import (
	"context"

	"microbatch/guarantee"
)

// Guarantee is exactly once, unless files that are gone may be skipped.
func (s *Source) Guarantee(context.Context) guarantee.Link {
	l := guarantee.Link{
		Name:   "files in " + s.root.uri(s.config.Glob),
		Reason: "each file is noted once in the seen-log, and a batch that runs again reads the same files",
	}
	if s.config.SkipMissing {
		l.Level = guarantee.AtMostOnce
		l.Reason = "a file that is deleted before it was read is left out, with a notice (on_data_loss: skip)"
		l.Remedy = "on_data_loss: fail stops the query instead, so that the file can be restored"
	}
	if s.config.SettleAge == 0 {
		l.Warnings = []string{"a file is taken as it is found: write files elsewhere and rename them into place, or set settle"}
	}
	return l
}

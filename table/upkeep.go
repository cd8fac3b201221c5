package table

import (
	"context"

	"microbatch/table/maintain"
)

// Checkpoint writes a table checkpoint if one is due (translog.State.CheckpointDue), and reports whether it did. It reads the whole list of files, so it is
// called beside commits, not in them.
func (t *Table) Checkpoint(ctx context.Context) (bool, error) {
	state := t.Snapshot().state
	if !state.CheckpointDue() {
		return false, nil
	}
	next, err := t.log.WriteCheckpoint(ctx, state)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.snap.state == state { // else somebody saw a newer version meanwhile; it will be due there again
		snap := *t.snap
		snap.state = next
		t.snap = &snap
	}
	return true, nil
}

// CleanLog deletes log entries past the table's retention and returns how many: see translog.Log.Cleanup.
func (t *Table) CleanLog(ctx context.Context) (int, error) {
	return t.log.Cleanup(ctx, t.Snapshot().state)
}

// Optimize joins small files: see maintain.Optimize.
func (t *Table) Optimize(ctx context.Context, o maintain.OptimizeOptions) (maintain.OptimizeResult, error) {
	return maintain.Optimize(ctx, t.log, o)
}

// Vacuum deletes files that are no longer needed: see maintain.Vacuum.
func (t *Table) Vacuum(ctx context.Context, o maintain.VacuumOptions) (maintain.VacuumResult, error) {
	return maintain.Vacuum(ctx, t.log, o)
}

// Check looks for what is missing or wrong: see maintain.Check.
func (t *Table) Check(ctx context.Context, o maintain.CheckOptions) (*maintain.Report, error) {
	return maintain.Check(ctx, t.log, o)
}

package maintain

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// VacuumOptions say what is deleted.
type VacuumOptions struct {
	Retain *time.Duration // files are kept for this long; nil: as the table says (delta.deletedFileRetentionDuration, a week by default)
	// Force allows a retention below 48 hours or below the table's own. Then no other process may be writing, and old versions become unreadable.
	Force  bool
	DryRun bool // delete nothing, only say what would be
}

// VacuumResult says what was deleted, or would be.
type VacuumResult struct {
	Keys  []string // in order
	Bytes int64
	Tidy  int // temporary files and unfinished uploads
}

// Vacuum deletes files that the table no longer needs, or never knew (N2).
func Vacuum(ctx context.Context, log *translog.Log, o VacuumOptions) (VacuumResult, error) {
	var result VacuumResult
	files, err := log.Files(ctx, translog.Latest)
	if err != nil {
		return result, err
	}
	if err := log.CheckWrite(files.State); err != nil {
		return result, err
	}
	retain, err := retention(log, files.State, o)
	if err != nil {
		return result, err
	}
	if bugs.Is(bugs.VacuumYoung) {
		retain = 0
	}
	cutoff := log.Now().Add(-retain)
	if !o.DryRun { // what is deleted is old by the store's clock too (N4)
		now, err := log.StoreTime(ctx)
		if err != nil {
			return result, err
		}
		if limit := now.Add(-retain); limit.Before(cutoff) && !bugs.Is(bugs.ClockOfTheMachine) {
			cutoff = limit
		}
	}
	old, err := oldFiles(ctx, log.Store(), files, cutoff)
	if err != nil {
		return result, err
	}
	for _, info := range old {
		result.Keys = append(result.Keys, info.Key)
		result.Bytes += info.Size
	}
	if o.DryRun {
		return result, nil
	}
	return result, deleteAll(ctx, log.Store(), &result, cutoff)
}

// oldFiles are the files that are not needed and not younger than cutoff.
func oldFiles(ctx context.Context, store objstore.Store, files *translog.Files, cutoff time.Time) (old []objstore.Info, err error) {
	needed, err := neededFiles(store, files, cutoff)
	if err != nil {
		return nil, err
	}
	for info, err := range store.List(ctx, "", "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", store.URL(), err)
		}
		if isData(info.Key) && !needed[info.Key] && !info.Modified.After(cutoff) {
			old = append(old, info)
		}
	}
	return old, nil
}

func deleteAll(ctx context.Context, store objstore.Store, result *VacuumResult, cutoff time.Time) (err error) {
	for _, key := range result.Keys {
		failpoint.Hit("vacuum.delete")
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
	}
	if result.Tidy, err = objstore.Tidy(ctx, store, "", cutoff); err != nil {
		return fmt.Errorf("tidy %s: %w", store.URL(), err)
	}
	return nil
}

func retention(log *translog.Log, s *translog.State, o VacuumOptions) (time.Duration, error) {
	own := s.FileRetention()
	if o.Retain == nil {
		return max(own, translog.MinRetention), nil
	}
	switch retain := *o.Retain; {
	case o.Force:
		return max(retain, 0), nil
	case retain < translog.MinRetention:
		return 0, errcode.TableRetention.New(log.Store().URL(), "%s is less than %s: files of a running batch might go", retain, translog.MinRetention)
	case retain < own && s.Property("delta.deletedFileRetentionDuration") != "":
		return 0, errcode.TableRetention.New(log.Store().URL(), "%s is less than the table's delta.deletedFileRetentionDuration, %s", retain, own)
	default:
		return retain, nil
	}
}

// neededFiles are the keys that a live add or a remove younger than cutoff names, with their deletion vectors.
func neededFiles(store objstore.Store, files *translog.Files, cutoff time.Time) (map[string]bool, error) {
	needed := map[string]bool{}
	need := func(file string, v *action.DeletionVector) error {
		key, err := datafile.Key(store, file)
		if err != nil {
			return err
		}
		needed[key] = true
		if v != nil {
			if key, err = datafile.VectorKey(v); err != nil {
				return err
			}
			needed[key] = true
		}
		return nil
	}
	for _, a := range files.Live {
		if err := need(a.Path, a.DeletionVector); err != nil {
			return nil, err
		}
	}
	for _, r := range files.Removed {
		if time.UnixMilli(r.Deleted).After(cutoff) {
			if err := need(r.Path, r.DeletionVector); err != nil {
				return nil, err
			}
		}
	}
	return needed, nil
}

// isData reports whether a key names a data file or a deletion vector that is not in a hidden directory (Delta protocol: names with _ or . first,
// except partition directories and _change_data).
func isData(key string) bool {
	dir, name := path.Split(key)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if (strings.HasPrefix(part, "_") || strings.HasPrefix(part, ".")) && !strings.Contains(part, "=") && part != "_change_data" {
			return false
		}
	}
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
		return false
	}
	return strings.HasSuffix(name, ".parquet") || strings.HasPrefix(name, "deletion_vector_") && strings.HasSuffix(name, ".bin")
}

package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sources"
)

const (
	// relistAfter is how old a listing may be while it still has files to plan: a backlog of many batches is not listed again for each.
	relistAfter = 10 * time.Second
	// maxEntry bounds an entry of the seen-log when no limit does.
	maxEntry = 50_000
	// maxNotices is how often a process says that a file changed after it was read.
	maxNotices = 20
	// statsAtOnce bounds concurrent requests about single files.
	statsAtOnce = 16
)

// advance makes the next entry from the files that are new.
func (s *Source) advance(ctx context.Context, limit sources.Limit) error {
	fresh := false
	if !s.frozen && (len(s.backlog) == 0 || s.config.Now().Sub(s.listed) >= relistAfter) {
		if err := s.list(ctx, s.config.SettleAge); err != nil {
			return err
		}
		fresh = true
	}
	for len(s.backlog) > 0 {
		entry := s.backlog[:s.fitting(limit)]
		if fresh {
			return s.append(ctx, slices.Clone(entry))
		}
		current, err := s.current(ctx, entry)
		if err != nil {
			return err
		}
		if len(current) > 0 {
			s.backlog = append(current, s.backlog[len(entry):]...)
			return s.append(ctx, slices.Clone(current))
		}
		s.backlog = s.backlog[len(entry):]
	}
	return nil
}

// fitting is how many files of the backlog fit the limit; at least one.
func (s *Source) fitting(limit sources.Limit) int {
	most := int64(min(len(s.backlog), maxEntry))
	if limit.Files > 0 {
		most = min(most, limit.Files)
	}
	var bytes, rows int64
	for i, f := range s.backlog[:most] {
		bytes += f.size
		rows += s.density.rowsOf(f)
		if i > 0 && (limit.Bytes > 0 && bytes > limit.Bytes || limit.Rows > 0 && rows > limit.Rows) {
			return i
		}
	}
	return int(most)
}

// answers finds out whether the place of the files can be listed, before anything is claimed. A folder that is not there may come.
func (s *Source) answers(ctx context.Context) error {
	for _, err := range s.config.Store.List(ctx, s.pattern.prefix, "") {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.listingError(err)
		}
		break
	}
	return nil
}

// list makes the backlog anew: all files that are data, match, are in no entry and have settled, by modification time and then name.
func (s *Source) list(ctx context.Context, settle time.Duration) error {
	now := s.config.Now()
	found := map[string]file{} // a listing may be unsorted and name a file twice
	for info, err := range s.config.Store.List(ctx, s.pattern.prefix, "") {
		if errors.Is(err, fs.ErrNotExist) {
			break // no such directory yet
		}
		if err != nil {
			return s.listingError(err)
		}
		if hidden(info.Key) || info.Size == 0 {
			continue
		}
		f := fileOf(info)
		seen, changed := s.seen.check(f)
		if changed && s.pattern.matches(f.key) {
			s.noticeChanged(f)
		}
		if age := now.Sub(info.Modified); seen || settle > 0 && age >= 0 && age < settle || !s.pattern.matches(f.key) {
			continue
		}
		found[f.key] = f
	}
	s.backlog = make([]file, 0, len(found))
	for _, f := range found {
		s.backlog = append(s.backlog, f)
	}
	slices.SortFunc(s.backlog, inPlanOrder)
	s.listed = now
	return nil
}

func inPlanOrder(a, b file) int {
	return cmp.Or(cmp.Compare(a.modified, b.modified), strings.Compare(a.key, b.key))
}

func fileOf(info objstore.Info) file {
	return file{key: info.Key, size: info.Size, modified: info.Modified.UnixMilli(), etag: info.ETag}
}

// dropSeen takes out of the backlog what is in an entry by now.
func (s *Source) dropSeen() {
	s.backlog = slices.DeleteFunc(s.backlog, func(f file) bool {
		_, seen := s.seen.content[s.seen.id(f.key)]
		return seen
	})
}

// current looks at files of an older listing again: what is gone or empty by now was never promised, and what changed is taken as it is now.
func (s *Source) current(ctx context.Context, listed []file) ([]file, error) {
	now := make([]file, len(listed))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statsAtOnce)
	for i, f := range listed {
		g.Go(func() error {
			info, err := s.config.Store.Stat(ctx, f.key)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			now[i] = fileOf(info)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, s.listingError(err)
	}
	return slices.DeleteFunc(now, func(f file) bool { return f.size == 0 }), nil
}

// complete looks up the sizes that a line written by Spark does not tell.
func (s *Source) complete(ctx context.Context, planned []file) ([]file, error) {
	complete := slices.Clone(planned)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statsAtOnce)
	for i, f := range complete {
		if f.size >= 0 {
			continue
		}
		g.Go(func() error {
			info, err := s.config.Store.Stat(ctx, f.key)
			if err != nil && !(errors.Is(err, fs.ErrNotExist) && s.config.SkipMissing) {
				return s.fileError(f, err)
			}
			complete[i].size = info.Size
			return nil
		})
	}
	return complete, g.Wait()
}

func (s *Source) noticeChanged(f file) {
	switch s.noticed++; {
	case s.noticed < maxNotices:
		s.config.Notice(fmt.Sprintf("%s changed after it was read: each file is read once, so what was added is not read; write new data to new files", s.root.uri(f.key)))
	case s.noticed == maxNotices:
		s.config.Notice("more files changed after they were read; they are not named any more")
	}
}

func (s *Source) listingError(err error) error {
	switch _, coded := errors.AsType[*errcode.Error](err); {
	case coded || errors.Is(err, context.Canceled):
		return fmt.Errorf("files source: list %s: %w", s.config.Root, err)
	case errors.Is(err, fs.ErrPermission):
		return errcode.FileUnreadable.Wrap(err, s.config.Root, "")
	}
	return errcode.ListingFailed.Wrap(err, s.config.Root, "")
}

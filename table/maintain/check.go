package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// Report is what Check found.
type Report struct {
	Version int64 // that was checked
	Oldest  int64 // that can be read
	Files   int
	Rows    int64
	Bytes   int64
	// Problems make the table, or some version of it, unreadable or wrong.
	Problems []Problem
	// Orphans are Parquet files that the log does not know: of killed attempts, or of running ones.
	Orphans []string
	// Replaced are files that the table no longer has and vacuum has not deleted yet.
	Replaced []string
	// GlobExact: the Parquet files below the table are exactly the table, so that a plain glob reads it right.
	GlobExact bool
}

// Problem is one thing that is wrong.
type Problem struct {
	Key  string // a file below the table
	Text string
}

// CheckOptions say how closely to look.
type CheckOptions struct {
	// Values reads every value of every file, not its footer alone: a byte that has changed on the disk is found by the checksum of its page.
	Values bool
}

// Check reads the log from end to end and looks at every live file: that it is there, as long as the log says, with a footer that can be read and as many
// rows as its statistics promise. It writes nothing (N3).
func Check(ctx context.Context, log *translog.Log, o CheckOptions) (*Report, error) {
	r := &Report{Version: -1, Oldest: -1}
	problems, oldest, err := log.Verify(ctx)
	if err != nil {
		return nil, err
	}
	for key, text := range problems {
		r.Problems = append(r.Problems, Problem{key, text})
	}
	r.Oldest = oldest
	files, err := log.Files(ctx, translog.Latest)
	if errcode.Has(err, errcode.TableLog) {
		r.Problems = append(r.Problems, Problem{log.Format().Dir(), err.Error()})
		return r.sorted(), nil
	}
	if err != nil {
		return nil, err
	}
	r.Version = files.State.Version
	if err := r.checkFiles(ctx, log.Store(), files.Sorted(), o); err != nil {
		return nil, err
	}
	return r.sorted(), r.compareListing(ctx, log.Store(), files)
}

func (r *Report) sorted() *Report {
	slices.SortFunc(r.Problems, func(a, b Problem) int { return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Text, b.Text)) })
	return r
}

// checkers is how many files are looked at at once.
const checkers = 8

func (r *Report) checkFiles(ctx context.Context, store objstore.Store, files []*action.Add, o CheckOptions) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checkers)
	for _, add := range files {
		group.Go(func() error {
			rows, err := checkFile(ctx, store, add, o)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			r.Files++
			r.Bytes += add.Size
			r.Rows += rows
			if err != nil {
				r.Problems = append(r.Problems, Problem{add.Path, textOf(err)})
			}
			return nil
		})
	}
	return group.Wait()
}

// textOf is an error of a file without its code and place, which stand beside it in a report.
func textOf(err error) string {
	if e, ok := errors.AsType[*errcode.Error](err); ok && errcode.Has(e, errcode.TableFile) {
		bare := *e
		bare.Place = ""
		return strings.TrimPrefix(bare.Error(), e.Code.ID+" ")
	}
	return err.Error()
}

// checkFile returns the live rows of a file.
func checkFile(ctx context.Context, store objstore.Store, add *action.Add, o CheckOptions) (int64, error) {
	file, object, err := datafile.Open(ctx, store, add)
	if err != nil {
		return 0, err
	}
	defer object.Close()
	if object.Size() != add.Size {
		return 0, fmt.Errorf("it is %d bytes long, the log says %d", object.Size(), add.Size)
	}
	if o.Values {
		for rec, err := range file.Read(ctx, nil, nil, memory.DefaultAllocator) {
			if err != nil {
				return 0, err
			}
			rec.Release()
		}
	}
	rows := file.Rows()
	if add.DeletionVector != nil {
		rows -= add.DeletionVector.Cardinality
		key, err := datafile.VectorKey(add.DeletionVector)
		if err != nil {
			return rows, err
		}
		if key != "" {
			if _, err := store.Stat(ctx, key); errors.Is(err, fs.ErrNotExist) {
				return rows, fmt.Errorf("its deletion vector %s is gone", key)
			} else if err != nil {
				return rows, err
			}
		}
	}
	if promised := add.Rows(); promised >= 0 && promised != rows {
		return rows, fmt.Errorf("it has %d rows, the log says %d", rows, promised)
	}
	return rows, nil
}

// compareListing finds the files that the log does not name.
func (r *Report) compareListing(ctx context.Context, store objstore.Store, files *translog.Files) error {
	live, removed := map[string]bool{}, map[string]bool{}
	for key := range files.Live {
		if k, err := action.DecodePath(key.Path); err == nil { // else it is a problem already
			live[k] = true
		}
	}
	for key := range files.Removed {
		if k, err := action.DecodePath(key.Path); err == nil {
			removed[k] = true
		}
	}
	r.GlobExact = true
	for info, err := range store.List(ctx, "", "") {
		if err != nil {
			return fmt.Errorf("list %s: %w", store.URL(), err)
		}
		if !strings.HasSuffix(info.Key, ".parquet") || live[info.Key] {
			continue
		}
		r.GlobExact = false
		switch {
		case removed[info.Key]:
			r.Replaced = append(r.Replaced, info.Key)
		case isData(info.Key):
			r.Orphans = append(r.Orphans, info.Key)
		}
	}
	if len(r.Problems) > 0 {
		r.GlobExact = false
	}
	return nil
}

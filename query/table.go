package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/table"
	"microbatch/table/action"
)

// Table is a table to be read.
type Table struct {
	Store   objstore.Store // its root is the table's
	Version *int64         // nil: the newest
	AsOf    *time.Time     // the newest version that was committed by then; not with Version
	S3      *S3            // how DuckDB reaches the store; nil: it does not, or the store is a folder
}

// S3 is what DuckDB's httpfs needs to know of a bucket.
type S3 struct {
	Endpoint     string // http://host:port or https://host; "" is Amazon's
	Region       string
	PathStyle    bool
	AccessKey    secret.Secret
	SecretKey    secret.Secret
	SessionToken secret.Secret
}

// Reading says how a table is read.
type Reading struct {
	Name    string
	URL     string
	Version int64
	Files   int
	DuckDB  bool   // or our own reader
	Why     string // why not DuckDB; "" if it is
}

// String is a line for people.
func (r Reading) String() string {
	by := "DuckDB"
	if !r.DuckDB {
		by = "microbatch's own reader, because " + r.Why
	}
	return fmt.Sprintf("%s: %s version %d, %d files, read by %s", r.Name, r.URL, r.Version, r.Files, by)
}

// opened is a table at the version that is read.
type opened struct {
	name        string
	store       objstore.Store
	s3          *S3
	schema      *arrow.Schema
	partitionBy []string
	files       []*action.Add
	version     int64
}

// Add makes a table visible under a name, which may be a path: FROM 'path' finds it.
func (s *Session) Add(ctx context.Context, name string, t Table) error {
	o, err := open(ctx, name, t)
	if err != nil {
		return err
	}
	r := Reading{Name: name, URL: t.Store.URL(), Version: o.version, Files: len(o.files)}
	why := s.addFiles(ctx, o)
	if r.DuckDB = why == nil; !r.DuckDB {
		r.Why = why.Error()
		if err := s.addOwn(ctx, o); err != nil {
			return err
		}
	}
	s.readings = append(s.readings, r)
	return nil
}

func open(ctx context.Context, name string, t Table) (*opened, error) {
	handle, err := table.Open(ctx, t.Store, table.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.QueryTable.New(name, "there is no table at %s: a table has a folder _metadata (format parquet) or _delta_log (format delta)", t.Store.URL())
	}
	if err != nil {
		return nil, err
	}
	snap := handle.Snapshot()
	switch {
	case t.Version != nil:
		snap, err = handle.At(ctx, *t.Version)
	case t.AsOf != nil:
		snap, err = handle.AsOf(ctx, *t.AsOf)
	}
	if err != nil {
		return nil, err
	}
	files, err := handle.Log().Files(ctx, snap.Version())
	if err != nil {
		return nil, err
	}
	return &opened{name: name, store: t.Store, s3: t.S3, schema: snap.Schema(), partitionBy: snap.PartitionBy(), files: files.InLogOrder(), version: snap.Version()}, nil
}

// createView names a SELECT.
func (s *Session) createView(ctx context.Context, name, sql string) error {
	return s.conn.Exec(ctx, "CREATE OR REPLACE TEMP VIEW "+duck.Ident(name)+" AS "+sql)
}

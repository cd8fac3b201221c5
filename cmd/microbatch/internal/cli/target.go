package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/pipeline"
	"microbatch/table"
)

// storeFlags say how s3:// paths are reached by commands that take a path.
type storeFlags struct {
	pipeline string
}

func (f *storeFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.pipeline, "pipeline", "", "take the s3: settings of this pipeline `file`; left out: the AWS environment")
}

// stores are the stores of the pipeline file named, which is nil if none is.
func (f *storeFlags) stores() (*pipeline.Stores, *pipeline.Config, error) {
	if f.pipeline == "" {
		return pipeline.NewStores(nil), nil, nil
	}
	c, err := pipeline.Load(f.pipeline)
	if err != nil {
		return nil, nil, err
	}
	return pipeline.NewStores(c), c, nil
}

// tableTarget is the table that a command's argument names: a path, or the pipeline file that writes it; without one, microbatch.yaml.
func (f *storeFlags) table(ctx context.Context, args []string) (*table.Table, string, error) {
	store, path, err := f.place(ctx, args, func(c *pipeline.Config) (string, error) {
		if c.Sink.Table == nil {
			return "", errcode.Usage.New(c.File(), "the pipeline writes no table")
		}
		return c.Sink.Table.Path, nil
	})
	if err != nil {
		return nil, "", err
	}
	t, err := table.Open(ctx, store, table.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, noTable(path)
	}
	return t, path, err
}

func noTable(path string) error {
	return errcode.NoTable.New(path, "there is no table; a table has a folder _metadata (format parquet) or _delta_log (format delta)")
}

// place is the store that an argument names; of picks the path out of a pipeline file.
func (f *storeFlags) place(ctx context.Context, args []string, of func(*pipeline.Config) (string, error)) (objstore.Store, string, error) {
	if len(args) > 0 && !isPipelineFile(args[0]) {
		stores, _, err := f.stores()
		if err != nil {
			return nil, "", err
		}
		s, err := stores.At(ctx, args[0])
		return s, args[0], err
	}
	var p pipelineFlags
	c, err := p.load(args)
	if err != nil {
		return nil, "", err
	}
	path, err := of(c)
	if err != nil {
		return nil, "", err
	}
	s, err := pipeline.NewStores(c).At(ctx, path)
	return s, path, err
}

func isPipelineFile(arg string) bool {
	ext := filepath.Ext(arg)
	return !strings.Contains(arg, "://") && (ext == ".yaml" || ext == ".yml")
}

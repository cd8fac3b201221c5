package cli

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"microbatch/internal/errcode"
	"microbatch/pipeline"
)

// defaultFile is the pipeline file when none is named.
const defaultFile = "microbatch.yaml"

// patience is how long commands that somebody waits for ask a service that does not answer.
const patience = 10 * time.Second

// pipelineFlags are the flags of commands that take a pipeline file.
type pipelineFlags struct {
	set []string
}

func (f *pipelineFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.set, "set", nil, "set a key of the pipeline file: `path=value`, as trigger.max_rows=1000 (repeatable)")
}

// load reads the pipeline file that args name, or microbatch.yaml.
func (f *pipelineFlags) load(args []string) (*pipeline.Config, error) {
	if len(args) > 0 {
		return pipeline.Load(args[0], f.set...)
	}
	if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.PipelineRead.New(defaultFile, "there is no such file in the current folder, and no other was named")
	}
	return pipeline.Load(defaultFile, f.set...)
}

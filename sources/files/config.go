package files

import (
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/objstore"
)

// Config configures the source.
type Config struct {
	// Store is rooted at the directory or bucket prefix.
	Store objstore.Store
	// Root is the URI of that root as it appears in the seen-log: file:///data/in, s3://bucket/prefix. See RootURI.
	Root string
	// Glob chooses keys below the root; "" is all of them. `*` and `?` stay within a path element, `**` as an element stands for any number
	// of elements, `[a-z]` and `[!a-z]` are one character, `{a,b}` is either, and a backslash takes away a character's meaning.
	Glob string
	// Format decodes the files.
	Format codec.Files
	// Schema is the declared schema; nil: inferred from the first file and pinned in the checkpoint.
	Schema *arrow.Schema
	// SettleAge leaves a file alone until it has not been modified for this long. 0: files are taken as they are found, so they must
	// be written elsewhere and renamed into place. A run that stops when it has caught up takes young files too.
	SettleAge time.Duration
	// SkipMissing goes on without a file that a batch needs and that is gone, with a notice; otherwise that is an error. It is the way out for a file
	// that was changed or is damaged, too: delete it.
	SkipMissing bool
	// MaxInflation is how many times its stored size a compressed file may grow, beyond the first 64 MiB. 0 is 200.
	MaxInflation int64

	Alloc  memory.Allocator // nil: as the format likes
	Notice func(string)     // takes what a person should know and is no error; any goroutine may call it; nil: dropped
	Now    func() time.Time // nil: time.Now
}

func (c Config) withDefaults() (Config, error) {
	var faults []error
	if c.Store == nil || c.Format == nil {
		faults = append(faults, errors.New("store and format are required"))
	}
	if c.Root == "" {
		faults = append(faults, errors.New("root is required"))
	}
	if c.SettleAge < 0 {
		faults = append(faults, fmt.Errorf("settle is negative: %s", c.SettleAge))
	}
	if c.MaxInflation < 0 {
		faults = append(faults, fmt.Errorf("max_inflation is negative: %d", c.MaxInflation))
	}
	if c.MaxInflation == 0 {
		c.MaxInflation = 200
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, errors.Join(faults...)
}

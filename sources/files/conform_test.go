package files

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

func TestFilesConform(t *testing.T) {
	var r *rig
	fed := 0
	sourcetest.Run(t, sourcetest.Subject{
		Reset: func(t *testing.T) { r = newRig(t) },
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			config := r.config
			config.Alloc = alloc
			s, err := New(config)
			must0(t, err)
			return s
		},
		Feed: func(t *testing.T, n int) {
			for range 10 {
				fed++
				r.write(fmt.Sprintf("in/%d", fed), n/10)
			}
			r.writeText(fmt.Sprintf("bad-%d", fed), "bad\n")
		},
		Step: sources.Limit{Files: 2},
	})
}

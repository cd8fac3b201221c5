package mem_test

import (
	"testing"

	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/objstore/storetest"
)

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return mem.New() })
}

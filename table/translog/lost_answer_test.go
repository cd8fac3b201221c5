package translog

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/table/action"
)

// deafDisk makes links and does not say so: link(2) gives EIO, and so does the look at what was linked.
type deafDisk struct {
	*crashfs.FS
	deaf bool
}

func (d *deafDisk) Link(old, new string) error {
	err := d.FS.Link(old, new)
	if d.deaf && err == nil {
		err = syscall.EIO
	}
	return err
}

func (d *deafDisk) Same(a, b string) (bool, error) {
	if d.deaf {
		return false, syscall.EIO
	}
	return d.FS.Same(a, b)
}

// TestAnEntryThatIsFoundToBeOursIsDurable: the answer to the put of an entry was lost, then the entry was read and is ours, then power was lost.
func TestAnEntryThatIsFoundToBeOursIsDurable(t *testing.T) {
	disk := &deafDisk{FS: crashfs.New()}
	log := New(localfs.NewOn(disk, localfs.Options{}), Delta, time.Now)
	state := begin(t, log)
	disk.deaf = true
	state, err := log.Commit(t.Context(), state, Change{Actions: []action.Action{{Txn: &action.Txn{AppID: "q", Version: 1}}}})
	if err != nil || state.Version != 1 {
		t.Fatal(state.Version, err)
	}
	after := New(localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(7, 7)), 0), localfs.Options{}), Delta, time.Now)
	if now, err := after.Load(t.Context(), Latest); err != nil || now.Version != 1 {
		t.Errorf("after a loss of power: %+v, %v", now, err)
	}
}

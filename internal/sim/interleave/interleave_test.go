package interleave_test

import (
	"testing"

	"microbatch/engine"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// Where drivers wait.
const (
	claim    = "checkpoint putifabsent _engine/epoch/*"
	tablePut = "table putifabsent _*.json"
)

// scene is a schedule with a name, and the media on which it is played.
type scene struct {
	name  string
	media []world.Medium
	play  func(*interleave.Stage)
}

var (
	objects = []world.Medium{world.Objects}
	disk    = []world.Medium{world.Disk}
	both    = []world.Medium{world.Objects, world.Disk}
)

func TestInterleavings(t *testing.T) {
	for _, scenes := range [][]scene{driverScenes(), sparkScenes(), purgeScenes(), lostScenes(), tableScenes(), kafkaScenes()} {
		for _, sc := range scenes {
			for _, m := range sc.media {
				t.Run(sc.name+"/"+m.String(), func(t *testing.T) { interleave.Play(t, m, sc.play) })
			}
		}
	}
}

// lockLost runs a driver as if the lock of the checkpoint were free: on a disk it may be on another machine, by NFS.
func lockLost(_ *gate.Process, q *engine.Query) { q.Checkpoint = world.Unlocked{Store: q.Checkpoint} }

//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Enabled says whether the points do anything in this build.
const Enabled = true

var points = struct {
	sync.Mutex
	actions map[string]func(hit int) error
	hits    map[string]int
	env     sync.Once
}{actions: map[string]func(int) error{}, hits: map[string]int{}}

// Set makes action run at each hit of the point, with the number of the hit from 1; nil removes it. The returned function removes it too.
// Only tests call it.
func Set(name string, action func(hit int) error) (remove func()) {
	points.Lock()
	defer points.Unlock()
	points.hits[name] = 0
	if action == nil {
		delete(points.actions, name)
	} else {
		points.actions[name] = action
	}
	return func() {
		points.Lock()
		defer points.Unlock()
		delete(points.actions, name)
	}
}

// Hits are the points passed so far and how often.
func Hits() map[string]int {
	points.Lock()
	defer points.Unlock()
	out := make(map[string]int, len(points.hits))
	for k, v := range points.hits {
		out[k] = v
	}
	return out
}

// Hit passes a named point.
func Hit(name string) {
	if err := Err(name); err != nil {
		panic(fmt.Sprintf("failpoint %s cannot return an error: %v", name, err))
	}
}

// Err passes a named point that can be made to return an error.
func Err(name string) error {
	points.env.Do(fromEnvironment)
	points.Lock()
	points.hits[name]++
	hit, action := points.hits[name], points.actions[name]
	points.Unlock()
	if action == nil {
		return nil
	}
	return action(hit)
}

func fromEnvironment() {
	for spec := range strings.SplitSeq(os.Getenv("MICROBATCH_FAILPOINT"), ",") {
		f := strings.Split(spec, ":")
		if len(f) < 2 {
			continue
		}
		at := 1
		if len(f) > 2 {
			at, _ = strconv.Atoi(f[2])
		}
		signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[f[1]]
		if signal == 0 || at < 1 {
			panic("MICROBATCH_FAILPOINT: want name:kill|stop[:hit], have " + spec)
		}
		points.Lock()
		points.actions[f[0]] = func(hit int) error {
			if hit == at {
				send(signal)
				if signal == syscall.SIGKILL {
					select {} // the signal is on its way; nothing more may happen
				}
			}
			return nil
		}
		points.Unlock()
	}
}

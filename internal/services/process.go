package services

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process describes a server to start.
type Process struct {
	Name    string                          // for messages
	Cmd     *exec.Cmd                       // not started; Stdin, Stdout and Stderr are taken by the keeper, Env nil is the test's
	Data    string                          // a folder that is removed when the server has ended, "" for none
	Ready   func(ctx context.Context) error // asked every 20 ms until it returns nil; nil for a server that is ready at once
	Timeout time.Duration                   // for Ready; 0 is 60 s
	Signal  string                          // that asks it to end, as kill(1) calls it; "" is TERM
}

// Running is a server that has answered. One goroutine may kill it and start it again.
type Running struct {
	PID int // of the server itself, for signals and /proc

	process Process
	life           // the present one
	former  []life // killed, and started again since
	stop    sync.Once
	err     error
}

// life is a server from its start to its end, and its keeper.
type life struct {
	keeper *exec.Cmd
	leash  io.Closer     // its closing ends the server
	gone   chan struct{} // closed when the server has ended
	log    string
}

// keeper starts its arguments, tells their pid on fd 3, and ends them when its stdin closes. The server inherits fd 3, so that its end is seen there as EOF.
const keeper = `
"$@" </dev/null &
pid=$!
echo $pid >&3
exec 3>&-
read -r _
kill -$KEEPER_SIGNAL $pid 2>/dev/null
(sleep 20; kill -9 $pid) >/dev/null 2>&1 &
guard=$!
wait $pid
kill $guard 2>/dev/null
rm -rf "$KEEPER_DATA" "$KEEPER_LOG"
`

// Start runs a server until the test ends.
func Start(t testing.TB, p Process) *Running {
	t.Helper()
	r, err := Launch(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Launch runs a server until Stop, or until the test process ends.
func Launch(p Process) (*Running, error) {
	r, err := launch(p)
	if err != nil {
		return nil, fmt.Errorf("services: start %s: %w", p.Name, err)
	}
	if err := r.await(p); err != nil {
		err = fmt.Errorf("services: %s: %w; its last words:\n%s", p.Name, err, r.LastWords())
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func launch(p Process) (*Running, error) {
	log, err := os.CreateTemp("", "services-"+p.Name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	told, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	k := exec.Command("/bin/sh", append([]string{"-c", keeper, "keeper", p.Cmd.Path}, p.Cmd.Args[1:]...)...)
	k.Dir, k.Env = p.Cmd.Dir, append(p.Cmd.Environ(), "KEEPER_DATA="+p.Data, "KEEPER_LOG="+log.Name(), "KEEPER_SIGNAL="+cmp.Or(p.Signal, "TERM"))
	k.Stdout, k.Stderr, k.ExtraFiles = log, log, []*os.File{tell}
	k.SysProcAttr = p.Cmd.SysProcAttr
	if k.SysProcAttr == nil {
		k.SysProcAttr = &syscall.SysProcAttr{}
	}
	k.SysProcAttr.Setpgid = true // an interrupt at the terminal is the test's; the keeper then tidies up
	leash, err := k.StdinPipe()
	if err != nil {
		return nil, err
	}
	err = k.Start()
	tell.Close()
	if err != nil {
		return nil, errors.Join(err, told.Close())
	}
	r := &Running{process: p, life: life{keeper: k, leash: leash, gone: make(chan struct{}), log: log.Name()}}
	lines, gone := bufio.NewReader(told), r.gone
	line, err := lines.ReadString('\n')
	if err == nil {
		r.PID, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keeper: %w", err), told.Close(), leash.Close(), k.Wait())
	}
	go func() { // ends with the server
		io.Copy(io.Discard, lines)
		told.Close()
		close(gone)
	}()
	return r, nil
}

// await asks Ready until it agrees, the server ends or the time is up.
func (r *Running) await(p Process) error {
	if p.Ready == nil {
		return nil
	}
	timeout := p.Timeout
	if timeout == 0 {
		timeout = 60 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-r.gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", timeout, err)
		case <-tick.C:
		}
	}
}

// Stop ends the server (by Process.Signal, after 20 s by SIGKILL), waits for it and removes its folder.
func (r *Running) Stop() error {
	r.stop.Do(func() {
		for _, l := range append([]life{r.life}, r.former...) { // the first one's keeper removes the folder
			l.leash.Close()
			if err := l.keeper.Wait(); err != nil {
				r.err = errors.Join(r.err, fmt.Errorf("services: stop %s: keeper: %w", r.process.Name, err))
			}
		}
	})
	return r.err
}

// Kill ends the server by SIGKILL and waits for its end. Its folder stays until Stop.
func (r *Running) Kill() error {
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("services: kill %s: %w", r.process.Name, err)
	}
	<-r.gone
	return nil
}

// Again starts a server that was killed, on the same port and the same folder, and waits until it answers.
func (r *Running) Again() error {
	p := r.process
	p.Data = ""
	next, err := Launch(p)
	if err != nil {
		return err
	}
	r.former = append([]life{r.life}, r.former...)
	r.PID, r.life = next.PID, next.life
	return nil
}

// Gone is closed when the server has ended.
func (r *Running) Gone() <-chan struct{} { return r.gone }

// LastWords is the end of what the server has printed.
func (r *Running) LastWords() string {
	b, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4096):])
}

// FreePort is a TCP port of 127.0.0.1 that was free a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// CacheDir is where servers are kept between test runs, outside the source tree: $XDG_CACHE_HOME/microbatch, or ~/.cache/microbatch. It exists.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "microbatch")
	return dir, os.MkdirAll(dir, 0o777)
}

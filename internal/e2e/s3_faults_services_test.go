//go:build services

package e2e

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"microbatch/internal/figures"
	"microbatch/internal/services"
	"microbatch/internal/services/proxy"
)

// TestMinIOIsKilledUnderLoad kills the store by SIGKILL while a query writes to it, and starts it again: the query waits, settles what it does not know, and goes on by
// itself; at the end each row is there once.
func TestMinIOIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	minio := services.OwnMinIO(t)
	w := onS3(t, "delta", minio, "")
	rng := newRand(t)
	w.feed(20)
	c := start(t, w.env, w.file, "--trigger", "0s")
	kills := 4
	for range kills {
		for range 2 + rng.IntN(3) {
			w.feed(3)
			if !c.batch(2 * time.Minute) {
				t.Fatalf("it ended by itself: %s", c.stderr.String())
			}
		}
		moment := time.NewTimer(time.Duration(rng.IntN(30)) * time.Millisecond)
		<-moment.C
		if err := minio.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		down := time.NewTimer(time.Duration(rng.IntN(1500)) * time.Millisecond)
		<-down.C
		if err := minio.Process.Again(); err != nil {
			t.Fatal(err)
		}
	}
	w.feed(5)
	for c.last.Behind != 0 || c.batches < w.files {
		if !c.batch(2 * time.Minute) {
			t.Fatalf("it ended by itself: %s", c.stderr.String())
		}
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
	w.catchUp()
	w.exact()
	figures.Add(t, "restarts of MinIO under load", kills)
}

// TestMinIOStaysAwayTooLong: the query gives up with a code that says so, and the next start is exact.
func TestMinIOStaysAwayTooLong(t *testing.T) {
	t.Parallel()
	minio := services.OwnMinIO(t)
	w := onS3(t, "parquet", minio, "")
	w.file = write(t, w.dir, "p.yaml", read(t, w.file)+"max_restarts: 0\n")
	w.feed(5)
	p := w.launch("commit.put.before:stop:6", "start", w.file, "--once", "--progress", "none")
	if !p.stopped() {
		t.Fatal(p.out.String())
	}
	if err := minio.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.goOn()
	e := p.end()
	code := coded.FindStringSubmatch(e.out)
	if code == nil || e.code != 6 && e.code != 7 {
		t.Errorf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
	}
	if err := minio.Process.Again(); err != nil {
		t.Fatal(err)
	}
	w.catchUp()
	w.exact()
	figures.Add(t, "restarts of MinIO after the query gave up", 1)
}

// away are the exit codes of a query whose services did not answer: try again, or read the truth.
func away(e end) bool { return (e.code == 6 || e.code == 7) && coded.MatchString(e.out) }

// TestMinIOBehindABadNetwork: between the query and the store, answers are delayed, cut, half-closed and eaten.
func TestMinIOBehindABadNetwork(t *testing.T) {
	t.Parallel()
	minio := services.MinIO(t)
	network, seed := badNetwork(t, minio.Endpoint[len("http://"):], 70, 20_000)
	w := onS3(t, "delta", minio, "http://"+network.Addr())
	retries := w.through(25)
	network.Schedule(nil)
	w.feed(2)
	w.catchUp()
	w.exact()
	reportNetwork(t, network, seed, "S3", retries)
}

// badNetwork is a proxy that breaks so many of 100 connections.
func badNetwork(t *testing.T, target string, percent int, within int64) (*proxy.Proxy, uint64) {
	t.Helper()
	seed := rand.Uint64()
	p, err := proxy.Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.Schedule(proxy.Seeded(seed, percent, within))
	return p, seed
}

// through runs the query on so many files, a few at a time. A run may end because a service stayed away; it returns how often that was.
func (w *world) through(files int) (retries int) {
	w.t.Helper()
	for w.files < files {
		w.feed(5)
		for try := 0; ; try++ {
			e := w.run("start", w.file, "--once", "--progress", "none")
			if e.code == 0 {
				break
			}
			if !away(e) || try == 20 {
				w.t.Fatalf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
			}
			retries++
		}
	}
	return retries
}

func reportNetwork(t *testing.T, p *proxy.Proxy, seed uint64, what string, retries int) {
	t.Helper()
	t.Logf("seed %d: %v; %d runs gave up and were started again", seed, p.Hits(), retries)
	sum := 0
	for kind, n := range p.Hits() {
		figures.Add(t, "connections to "+what+" "+kind.String(), n)
		if kind != proxy.Slow {
			sum += n
		}
	}
	if sum == 0 {
		t.Error("no connection was broken")
	}
}

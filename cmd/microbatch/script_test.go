package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"microbatch": main})
}

// TestScripts runs the command line as a user does; each script in testdata/script says what it shows.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			// Nothing of the machine's AWS settings may leak in, and no request to an instance's metadata service may go out.
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Setenv("AWS_CONFIG_FILE", e.WorkDir+"/none")
			e.Setenv("AWS_SHARED_CREDENTIALS_FILE", e.WorkDir+"/none")
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"kafka":    kafkaCommand,
			"s3":       s3Command,
			"waitfor":  waitFor,
			"freeport": freePort,
			"get":      httpGet,
			"lines":    countLines,
			"tear":     tear,
		},
	})
}

// kafkaCommand starts a broker in this process: kafka [-login user:password] topic file [topic file]... The lines of each file are the topic's records. $BROKER is
// its address.
func kafkaCommand(ts *testscript.TestScript, _ bool, args []string) {
	options := []kfake.Opt{kfake.NumBrokers(1)}
	var login []kgo.Opt
	if args[0] == "-login" {
		user, password, _ := strings.Cut(args[1], ":")
		options = append(options, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", user, password))
		login = append(login, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
		args = args[2:]
	}
	for i := 0; i+1 < len(args); i += 2 {
		options = append(options, kfake.SeedTopics(1, args[i]))
	}
	cluster, err := kfake.NewCluster(options...)
	ts.Check(err)
	ts.Defer(cluster.Close)
	client, err := kgo.NewClient(append(login, kgo.SeedBrokers(cluster.ListenAddrs()...))...)
	ts.Check(err)
	defer client.Close()
	for i := 0; i+1 < len(args); i += 2 {
		for line := range strings.Lines(ts.ReadFile(args[i+1])) {
			ts.Check(client.ProduceSync(context.Background(), &kgo.Record{Topic: args[i], Value: []byte(strings.TrimSpace(line))}).FirstErr())
		}
	}
	ts.Setenv("BROKER", cluster.ListenAddrs()[0])
}

// s3Command starts an S3 server in this process: s3 bucket, or s3 -denied, which refuses every request. $S3 is its address.
func s3Command(ts *testscript.TestScript, _ bool, args []string) {
	var handler http.Handler
	if args[0] == "-denied" {
		handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist.</Message></Error>`)
		})
	} else {
		backend := s3mem.New()
		ts.Check(backend.CreateBucket(args[0]))
		handler = gofakes3.New(backend).Server()
	}
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv("S3", server.URL)
}

// deadline is how long a script waits for what must come.
const deadline = 30 * time.Second

// waitFor waits until files exist.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		until(ts, name+" to exist", func() bool {
			_, err := os.Stat(ts.MkAbs(name))
			return !errors.Is(err, fs.ErrNotExist)
		})
	}
}

func until(ts *testscript.TestScript, what string, ok func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !ok(); <-tick.C {
		if time.Since(begin) > deadline {
			ts.Fatalf("waited %s for %s", deadline, what)
		}
	}
}

// freePort sets a variable to a port that nobody uses now.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// httpGet writes the answer of a URL into a file: get url file. It waits for the server.
func httpGet(ts *testscript.TestScript, _ bool, args []string) {
	var body []byte
	until(ts, args[0], func() bool {
		answer, err := http.Get(args[0])
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err = io.ReadAll(answer.Body)
		return err == nil
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o644))
}

// countLines writes a file of n lines: lines n file format. %d in the format is the number of the line.
func countLines(ts *testscript.TestScript, _ bool, args []string) {
	var n int
	_, err := fmt.Sscan(args[0], &n)
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(args[2], "%d", fmt.Sprint(i)) + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// tear cuts a file to its first half, as a disk does that loses power.
func tear(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(len(data)/2)))
}

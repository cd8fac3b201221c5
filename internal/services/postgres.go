package services

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresServer is a PostgreSQL server with TLS, passwords, logical decoding and prepared transactions.
type PostgresServer struct {
	*Running
	Addr     string // host:port
	CA       string // PEM file of the authority that signed the server's certificate
	User     string // a superuser
	Password string

	data string
}

// Kill ends the server by SIGKILL and waits for the end of all its processes.
func (s *PostgresServer) Kill() error {
	// The next server would take the dead one for alive: its pid is not free yet.
	return errors.Join(s.Running.Kill(), os.Remove(filepath.Join(s.data, "postmaster.pid")))
}

var sharedPostgres = sync.OnceValues(LaunchPostgres)

// Postgres is a PostgreSQL server that all tests of the process share; it ends with the process. Each test makes its own database.
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := sharedPostgres()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// OwnPostgres is a PostgreSQL server of the test's own, which it may kill and start again.
func OwnPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := LaunchPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// LaunchPostgres runs a server until Stop, or until this process ends. Its programs come from the distribution (install.sh).
func LaunchPostgres() (*PostgresServer, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, fmt.Errorf("services: %w", err)
	}
	dir, err := os.MkdirTemp("", "services-postgres-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{User: "postgres", Password: "pw-" + rand.Text()}
	if err := s.launch(bin, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("services: postgres: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

// postgresPrograms is the folder of the newest version.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("there is no /usr/lib/postgresql/*/bin/postgres: run internal/services/install.sh as root")
	}
	version := func(file string) int {
		n, _ := strconv.Atoi(strings.Split(file, "/")[4]) // what is no number is older than all
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

func (s *PostgresServer) launch(bin, dir string) error {
	ca, chain, err := serverCertificate(dir)
	if err != nil {
		return err
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(s.Password), 0o600); err != nil {
		return err
	}
	port, err := FreePort()
	if err != nil {
		return err
	}
	s.Addr, s.CA = fmt.Sprintf("127.0.0.1:%d", port), ca
	s.data = filepath.Join(dir, "data")
	run, err := asPostgres(dir)
	if err != nil {
		return err
	}
	if out, err := run(filepath.Join(bin, "initdb"), "-D", s.data, "-U", s.User, "--pwfile", password, "-A", "scram-sha-256", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", s.data}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=", "max_connections=60",
		"wal_level=logical", "max_prepared_transactions=16",
		"fsync=off", // a killed server loses nothing by it: only a machine that loses power would
		"ssl=on", "ssl_cert_file=" + chain, "ssl_key_file=" + chain,
	} {
		args = append(args, "-c", setting)
	}
	s.Running, err = Launch(Process{Name: "postgres", Cmd: run(filepath.Join(bin, "postgres"), args...), Data: dir, Ready: s.ready, Signal: "INT"})
	return err
}

// asPostgres makes commands that run as the user postgres and in the folder dir, which it is given: the server refuses to run as root. Whoever is not root runs them as himself.
func asPostgres(dir string) (func(name string, args ...string) *exec.Cmd, error) {
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		return cmd
	}
	if os.Geteuid() != 0 {
		return command, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(file string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chown(file, uid, gid)) })
	return func(name string, args ...string) *exec.Cmd {
		return command("setpriv", append([]string{"--reuid", u.Uid, "--regid", u.Gid, "--clear-groups", "--", name}, args...)...)
	}, err
}

func (s *PostgresServer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres", s.Password))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL is the connection to a database; password "": none in it.
func (s *PostgresServer) URL(database, password string) string {
	return PostgresURL(s.Addr, s.User, password, database)
}

// PostgresURL is a connection to a database without TLS; password "": none in it.
func PostgresURL(addr, user, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Host: addr, Path: "/" + database, RawQuery: "sslmode=disable"}
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// NewDatabase makes an empty database with a fresh name.
func (s *PostgresServer) NewDatabase(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return name
}

// Connect is a connection to a database for the time of the test.
func (s *PostgresServer) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(database, s.Password))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may have been killed
	return conn
}

// Exec runs statements on a connection of their own.
func (s *PostgresServer) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	conn := s.Connect(t, database)
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

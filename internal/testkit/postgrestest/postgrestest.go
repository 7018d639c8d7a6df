// Package postgrestest runs a PostgreSQL server for tests, where its programs are installed.
package postgrestest

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testcache"
)

// Server is a PostgreSQL server of the installed programs, in a directory of its own. It runs
// until the end of the test that started it. Everything in it belongs to the role postgres.
type Server struct {
	// Port is the port of localhost, for connections with TLS and without.
	Port int
	// Password is the password of the role postgres.
	Password string
	// CACertificate is the authority of the server's certificate, in PEM.
	CACertificate string

	programs, dir string
	settings      []string
	// stop stops the server that runs, nil if none does.
	stop func()
}

// portAttempts is how many ports are tried, because another process may take a free one.
const portAttempts = 5

// Installed reports whether [Start] can start a server.
func Installed() bool { return !testing.Short() && findPrograms() != "" }

// Start starts a server, with more settings, such as wal_level=logical. The test is skipped where PostgreSQL is not
// installed.
func Start(t *testing.T, settings ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a PostgreSQL server")
	}
	programs := findPrograms()
	if programs == "" {
		t.Skip("PostgreSQL is not installed: neither PATH nor /usr/lib/postgresql has its initdb and postgres (on Debian: apt-get install postgresql)")
	}
	template := testcache.Dir(t, "postgresql-"+version(t, programs), func(dir string) error { return initialize(t, programs, dir) })
	password, err := os.ReadFile(filepath.Join(template, passwordFile))
	require.NoError(t, err)
	s := &Server{Password: string(password), programs: programs, settings: settings}
	s.makeDirectory(t)
	require.NoError(t, os.CopyFS(s.data(), os.DirFS(filepath.Join(template, dataDirectory))))
	require.NoError(t, os.Chmod(s.data(), 0o700)) // or the server refuses it
	giveAway(t, s.dir)
	s.begin(t)
	return s
}

// The files of a server, and of the template that servers begin with.
const (
	dataDirectory = "data"
	passwordFile  = "password"
)

// version returns the version of the server's programs.
func version(t *testing.T, programs string) string {
	output, err := command(t, filepath.Join(programs, "postgres"), "--version").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(output))
}

// initialize makes what servers begin with: the files of an empty server, and its password, in a directory that is the
// user's own. initdb takes more processor time than most tests of the server.
func initialize(t *testing.T, programs, dir string) error {
	s := &Server{Password: rand.Text(), programs: programs}
	s.makeDirectory(t)
	cmd := command(t, filepath.Join(programs, "initdb"), "--pgdata="+s.data(), "--username=postgres", "--pwfile="+filepath.Join(s.dir, passwordFile),
		"--auth-local=reject", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, dataDirectory), os.DirFS(s.data())); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, passwordFile), []byte(s.Password), 0o600)
}

// makeDirectory makes the directory of a server, without its data.
func (s *Server) makeDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "postgres")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s.dir, s.CACertificate = dir, writeCertificate(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, passwordFile), []byte(s.Password), 0o600))
	giveAway(t, dir)
}

// Give has a directory belong to the user that the server runs as.
func (s *Server) Give(t *testing.T, dir string) { giveAway(t, dir) }

func (s *Server) data() string { return filepath.Join(s.dir, dataDirectory) }

// begin runs the server at a free port.
func (s *Server) begin(t *testing.T) {
	for range portAttempts {
		s.Port = freePort(t)
		said := s.run(t)
		if said == "" {
			t.Cleanup(s.Stop)
			return
		}
		require.Contains(t, said, "could not bind", "the server does not start")
	}
	require.Fail(t, "no port is free for the server")
}

// Replica starts a replica, which has all that the server confirms from now on: the server waits for it.
func (s *Server) Replica(t *testing.T) *Server {
	t.Helper()
	copier := filepath.Join(s.programs, "pg_basebackup")
	if real, err := filepath.EvalSymlinks(filepath.Join(s.programs, "postgres")); err == nil {
		copier = filepath.Join(filepath.Dir(real), "pg_basebackup")
	}
	if _, err := exec.LookPath(copier); err != nil {
		t.Skip("pg_basebackup, which copies the server for a replica, is not installed")
	}
	replica := &Server{Password: s.Password, programs: s.programs}
	replica.makeDirectory(t)
	copying := command(t, copier, "--pgdata="+replica.data(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		fmt.Sprintf("--dbname=host=127.0.0.1 port=%d user=postgres password=%s sslmode=disable", s.Port, s.Password))
	output, err := copying.CombinedOutput()
	require.NoError(t, err, string(output))
	replica.begin(t)
	s.Execute(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Execute(t, "postgres", "SELECT pg_reload_conf()")
	s.Execute(t, "postgres", `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') LOOP
			PERFORM pg_sleep(0.02);
			PERFORM pg_stat_clear_snapshot();
		END LOOP;
	END $$`)
	return replica
}

// Promote has a replica take over.
func (s *Server) Promote(t *testing.T) {
	t.Helper()
	s.Execute(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = ''")
	// A statement that waited for the end could keep the replica from replaying what it has.
	s.Execute(t, "postgres", "SELECT pg_promote(wait => false)")
	for s.isReplica(t) {
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *Server) isReplica(t *testing.T) bool {
	conn, err := pgconn.Connect(t.Context(), s.URL("postgres", 0))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	results, err := conn.Exec(t.Context(), "SELECT pg_is_in_recovery()").ReadAll()
	require.NoError(t, err)
	return string(results[0].Rows[0][0]) == "t"
}

// findPrograms returns the directory of the server's programs, empty if there is none. Debian
// keeps them out of PATH, in a directory for each version.
func findPrograms() string {
	places, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return ""
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		places = append(places, path)
	}
	for _, path := range slices.Backward(places) {
		dir := filepath.Dir(path)
		if _, err := exec.LookPath(filepath.Join(dir, "postgres")); err == nil {
			return dir
		}
	}
	return ""
}

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// Stop stops the server at once, as if its machine had failed: it recovers when it starts again.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
	}
	s.stop = nil
}

// Restart starts the server again after Stop.
func (s *Server) Restart(t *testing.T) {
	t.Helper()
	s.Stop()
	said := s.run(t)
	for range portAttempts {
		if !strings.Contains(said, "could not bind") {
			break
		}
		time.Sleep(100 * time.Millisecond) // a connection from the same machine may have the port
		said = s.run(t)
	}
	require.Empty(t, said, "the server does not start")
}

// URL returns the URL of a database, for the role postgres, through another port if that is not 0.
func (s *Server) URL(database string, port int) string {
	if port == 0 {
		port = s.Port
	}
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/%s?sslmode=disable", s.Password, port, database)
}

// run runs the server until Stop, and waits until it serves. If it does not, run returns its log. The server also ends if the test is killed: a shell waits for the end
// of a stream that the test keeps open.
func (s *Server) run(t *testing.T) (said string) {
	dir := s.dir
	const script = `"$@" & read line; kill -QUIT $!; wait`
	arguments := []string{"-c", script, "sh", filepath.Join(s.programs, "postgres"), "-D", s.data()}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(s.Port), "unix_socket_directories=", "fsync=off", "shared_buffers=16MB",
		"ssl=on", "ssl_cert_file=" + filepath.Join(dir, certificateFile), "ssl_key_file=" + filepath.Join(dir, keyFile),
	}, s.settings...) {
		arguments = append(arguments, "-c", setting)
	}
	server := command(t, "/bin/sh", arguments...)
	life, err := server.StdinPipe()
	require.NoError(t, err)
	log, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	lines := bufio.NewScanner(log)
	ended := make(chan struct{})
	stop := func() {
		life.Close()
		<-ended
		_ = server.Wait() // the status is the signal's
	}
	for lines.Scan() {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "ready to accept connections") || strings.Contains(lines.Text(), "ready to accept read-only connections") {
			go func() {
				for lines.Scan() { // so that the server can go on logging
				}
				close(ended)
			}()
			s.stop = stop
			return ""
		}
		// Clients that do not wait are told that the system is not yet ready.
		if strings.Contains(lines.Text(), "FATAL:") && !strings.Contains(lines.Text(), "the database system is") {
			break
		}
	}
	close(ended)
	stop()
	return said
}

// command returns a command of the user that the server runs as, whose messages are in
// English.
func command(t *testing.T, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir, cmd.Env = os.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	become(t, cmd)
	return cmd
}

// Configuration returns the configuration of the provider postgresql for the server, as the
// role postgres.
func (s *Server) Configuration() map[string]any {
	return map[string]any{"host": "localhost", "port": s.Port, "password": s.Password, "caCertificate": s.CACertificate}
}

// Execute executes statements in a database, as the role postgres.
func (s *Server) Execute(t *testing.T, database, statements string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password=%s dbname=%s sslmode=disable", s.Port, s.Password, database))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), statements).ReadAll()
	require.NoError(t, err)
}

package provider_test

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

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// testServer is a PostgreSQL server of the installed programs, in a directory of its own. It runs
// until the end of the test that started it. Everything in it belongs to the role postgres.
type testServer struct {
	// Port is the port of localhost, for connections with TLS and without.
	Port int
	// Password is the password of the role postgres.
	Password string
	// CACertificate is the authority of the server's certificate, in PEM.
	CACertificate string
}

// portAttempts is how many ports are tried, because another process may take a free one.
const portAttempts = 5

// startServer starts a server. The test is skipped where PostgreSQL is not installed.
func startServer(t *testing.T) *testServer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a PostgreSQL server")
	}
	programs := findPrograms()
	if programs == "" {
		t.Skip("PostgreSQL is not installed: neither PATH nor /usr/lib/postgresql has its initdb and postgres (on Debian: apt-get install postgresql)")
	}
	dir, err := os.MkdirTemp("", "postgres")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s := &testServer{Password: rand.Text()}
	s.CACertificate = writeCertificate(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte(s.Password), 0o600))
	giveAway(t, dir)

	data := filepath.Join(dir, "data")
	initialize := command(t, filepath.Join(programs, "initdb"), "--pgdata="+data, "--username=postgres", "--pwfile="+filepath.Join(dir, "password"),
		"--auth-local=reject", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	output, err := initialize.CombinedOutput()
	require.NoError(t, err, string(output))

	for range portAttempts {
		s.Port = freePort(t)
		said := runServer(t, programs, dir, s.Port)
		if said == "" {
			return s
		}
		require.Contains(t, said, "could not bind", "the server does not start")
	}
	require.Fail(t, "no port is free for the server")
	return nil
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

// runServer runs the server until the end of the test, and waits until it serves. If it does not,
// runServer returns its log. The server also ends if the test is killed: a shell waits for the end
// of a stream that the test keeps open.
func runServer(t *testing.T, programs, dir string, port int) (said string) {
	const script = `"$@" & read line; kill -INT $!; wait`
	arguments := []string{"-c", script, "sh", filepath.Join(programs, "postgres"), "-D", filepath.Join(dir, "data")}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=", "fsync=off", "shared_buffers=16MB",
		"ssl=on", "ssl_cert_file=" + filepath.Join(dir, certificateFile), "ssl_key_file=" + filepath.Join(dir, keyFile),
	} {
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
		_ = server.Wait() // the status is that of the signal
	}
	for lines.Scan() {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go func() {
				for lines.Scan() { // so that the server can go on logging
				}
				close(ended)
			}()
			t.Cleanup(stop)
			return ""
		}
		if strings.Contains(lines.Text(), "FATAL:") {
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
func (s *testServer) Configuration() map[string]any {
	return map[string]any{"host": "localhost", "port": s.Port, "password": s.Password, "caCertificate": s.CACertificate}
}

// Execute executes statements in a database, as the role postgres.
func (s *testServer) Execute(t *testing.T, database, statements string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password=%s dbname=%s sslmode=disable", s.Port, s.Password, database))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), statements).ReadAll()
	require.NoError(t, err)
}

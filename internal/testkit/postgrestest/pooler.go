package postgrestest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pooler starts PgBouncer before the server, which gives each transaction to any of two connections, until the end
// of the test. It keeps no prepared statements, as is the default of many versions. It returns the port. The test is skipped where PgBouncer is not installed.
func (s *Server) Pooler(t *testing.T) (port int) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		const debian = "/usr/sbin/pgbouncer" // which is not in the PATH of every user
		if program, err = exec.LookPath(debian); err != nil {
			t.Skip("PgBouncer is not installed (on Debian: apt-get install pgbouncer)")
		}
	}
	dir, err := os.MkdirTemp("", "pgbouncer")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	users, settings := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "\"postgres\" \"%s\"\n", s.Password), 0o600))
	said, statements := "", "max_prepared_statements = 0\n"
	for range portAttempts {
		port = freePort(t)
		require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = 2
server_tls_sslmode = disable
%s`, s.Port, port, users, statements), 0o600))
		giveAway(t, dir)
		if said = runPooler(t, program, settings); said == "" {
			return port
		}
		if strings.Contains(said, "unknown parameter") {
			statements = "" // versions before 1.21 never keep statements
		}
	}
	require.Fail(t, "PgBouncer does not start", said)
	return 0
}

// runPooler runs PgBouncer until the end of the test, also if that is killed. If it does not serve, runPooler returns its log.
func runPooler(t *testing.T, program, settings string) (said string) {
	const script = `"$@" & read line; kill -INT $!; wait`
	cmd := command(t, "/bin/sh", "-c", script, "sh", program, settings)
	life, err := cmd.StdinPipe()
	require.NoError(t, err)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	stop := func() {
		life.Close()
		<-ended
		_ = cmd.Wait() // the status is the signal's
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "process up") {
			go func() {
				for lines.Scan() { // so that it can go on logging
				}
				close(ended)
			}()
			t.Cleanup(stop)
			return ""
		}
		if strings.Contains(lines.Text(), "FATAL") || strings.Contains(lines.Text(), "cannot listen") {
			break
		}
	}
	close(ended)
	stop()
	return said
}

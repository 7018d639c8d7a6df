package remote_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
)

// serverVariable makes the test binary a server, which keeps stacks in the file of SQLite that it names.
const serverVariable = "HUSK_TEST_SERVER"

// TestMain is also that of the writers and servers of historyOfProcesses.
func TestMain(m *testing.M) {
	if file := os.Getenv(serverVariable); file != "" {
		if err := serveFile(file); err != nil {
			fmt.Fprintln(os.Stderr, "the server cannot serve:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	backendtest.Main(m, func(ctx context.Context, url string) (state.Store, error) {
		b, err := remote.Open(ctx, named.ByOperator(url, "the test"), "")
		if err != nil {
			return nil, err
		}
		return b.State, nil
	})
}

func openFile(ctx context.Context, file string) (*backend.Backend, error) {
	return sqlite.Open(ctx, "sqlite://"+filepath.ToSlash(file), filepath.Dir(file))
}

// serveFile says at which address it serves, and does so until the test that has started the process ends.
func serveFile(file string) error {
	kept, err := openFile(context.Background(), file)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() { _ = http.Serve(listener, remote.Handler(accessTo(kept), intake.ProcessBudget())) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// file is one of SQLite that a server keeps stacks in.
type file string

func newFile(t *testing.T) file { return file(filepath.Join(t.TempDir(), "stacks.db")) }

// clockJumps has the clock jump ahead by more than a lease lasts.
func (f file) clockJumps(t *testing.T) {
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(string(f))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE stacks SET expires = 1")
	require.NoError(t, errors.Join(err, db.Close()))
}

// historyUnderFaults has other servers take the place of a server, and the clock of the store jump.
func historyUnderFaults(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	kept, err := openFile(t.Context(), string(file))
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	var current atomic.Pointer[remote.Server]
	begin := func() *remote.Server {
		_, handler := serve(t, kept)
		return current.Swap(handler)
	}
	begin()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	var proxies []*faultproxy.Proxy
	backendtest.History(t, func(int) state.Store {
		proxy := faultproxy.Start(t, strings.TrimPrefix(server.URL, "http://"))
		proxies = append(proxies, proxy)
		return open(t, proxy.Address(), "all").State
	},
		backendtest.Fault{Times: 40, Cause: faultproxy.Faults(&proxies)},
		backendtest.Fault{Every: 4, Times: 4, Cause: func(*rand.Rand) { begin() }},
		backendtest.Fault{Every: 4, Times: 2, Expires: true, Cause: func(*rand.Rand) { file.clockJumps(t) }},
	)
}

// startServer starts a process that serves a file, until it is killed or the test ends. It returns the address.
func startServer(t *testing.T, f file) (address string, kill func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+string(f))
	cmd.Stderr = os.Stderr
	processgroup.Own(cmd)
	life, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		_ = life.Close()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), kill
}

// historyOfProcesses has the server and the writers be processes that are killed. What is left of a server is the file.
func historyOfProcesses(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	address, kill := startServer(t, file)
	var proxies []*faultproxy.Proxy
	processes := backendtest.NewProcesses(t)
	open := func(n int) state.Store {
		proxy := faultproxy.Start(t, address)
		proxies = append(proxies, proxy)
		return processes.Open(n, "http://:all@"+proxy.Address())
	}
	jump := func() { file.clockJumps(t) }
	backendtest.History(t, open,
		backendtest.Fault{Times: 5, Cause: faultproxy.Faults(&proxies)},
		backendtest.Fault{Every: 2, Times: 5, Cause: func(random *rand.Rand) {
			kill() // its leases are in the file
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			address, kill = startServer(t, file)
			for _, p := range proxies {
				p.Route(address)
			}
		}},
		backendtest.Fault{Every: 4, Times: 2, Expires: true, Cause: func(*rand.Rand) { jump() }},
		processes.Kill(false, 10), processes.Pause(jump, 5),
	)
}

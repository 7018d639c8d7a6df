package statetest

import (
	"database/sql"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

// requests records what a server is asked.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (r *requests) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, what)
}

// taken returns the requests since the last call.
func (r *requests) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// counted is a handler that records requests.
func (r *requests) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.add(q.Method + " " + q.URL.RequestURI())
		handler.ServeHTTP(w, q)
	})
}

// postgres passes connections on to a server of PostgreSQL, and records each time that a client waits for it. It returns
// the address.
func (r *requests) postgres(t *testing.T, target string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			r.add("connect")
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
			go func() {
				r.messages(client, server)
				_ = server.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// messages copies what a client sends, in which Sync and Query end what is sent at once.
func (r *requests) messages(from io.Reader, to io.Writer) {
	const lengthSize = 4
	read := func(head int) ([]byte, error) {
		message := make([]byte, head+lengthSize)
		if _, err := io.ReadFull(from, message); err != nil {
			return nil, err
		}
		size := 0
		for _, b := range message[head:] {
			size = size<<8 | int(b)
		}
		message = append(message, make([]byte, size-lengthSize)...)
		_, err := io.ReadFull(from, message[head+lengthSize:])
		return message, err
	}
	statements := ""
	for head := 0; ; head = 1 { // the first message has no type
		message, err := read(head)
		if err != nil {
			return
		}
		if head == 1 {
			switch message[0] {
			case 'P': // Parse
				text := strings.Trim(string(message[1+lengthSize:]), "\x00")
				statements += strings.Join(strings.Fields(text), " ") + "; "
			case 'S', 'Q':
				r.add("step " + statements)
				statements = ""
			case 'p':
				r.add("authenticate")
			}
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}

// TestRequests counts what an update that changes nothing asks a server for: docs/state.md promises it.
func TestRequests(t *testing.T) {
	u := usertest.New(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.wasm"), u.Lab, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(`name: demo
plugins:
  providers:
    - name: lab
      path: lab.wasm
resources:
  thing:
    type: lab:Thing
    properties: {name: a}
`), 0o600))
	var r requests
	// unchanged returns the kinds of requests of a second update. A slow one also says that it is alive, which is left out.
	unchanged := func(t *testing.T, url string, kind func(request string) string) (kinds []string) {
		for range 2 {
			r.taken()
			cmd := exec.Command("husk", "up", "--yes")
			cmd.Dir, cmd.Env = dir, append(append(os.Environ(), u.Environment...), "HUSK_BACKEND_URL="+url, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		for _, request := range r.taken() {
			if k := kind(request); k != "" {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	t.Run("s3", func(t *testing.T) {
		kinds := unchanged(t, s3test.Start(t, r.counted(s3test.New())), func(request string) string {
			method, path, _ := strings.Cut(request, " ")
			switch {
			case method == "PUT" && strings.HasPrefix(path, "/team/stacks/"):
				return "" // the lease, its signs of life, and its end
			case strings.HasPrefix(path, "/team/stacks/"):
				return method + " head"
			case strings.HasPrefix(path, "/team/modules/"):
				return method + " module"
			case strings.HasPrefix(path, "/team/?"):
				return "list records"
			}
			for _, part := range []string{"checkpoints", "history", "runs"} {
				if strings.Contains(path, "/"+part) {
					return method + " " + part
				}
			}
			return request
		})
		require.ElementsMatch(t, []string{"GET head", "GET checkpoints", "GET history", "HEAD module", "PUT history", "PUT runs", "list records"}, kinds)
	})
	t.Run("server of husk", func(t *testing.T) {
		kept := stacks(t)
		handler := remote.Handler(func(*http.Request) (*remote.Access, error) {
			return &remote.Access{Owner: "a client", Backend: kept, Writes: true, Allows: func(state.StackName, bool) bool { return true }}, nil
		}, intake.ProcessBudget())
		server := httptest.NewServer(r.counted(handler))
		defer server.Close()
		kinds := unchanged(t, server.URL, func(request string) string {
			return strings.TrimPrefix(strings.TrimPrefix(request, "POST "+remote.Path), "beat")
		})
		require.ElementsMatch(t, []string{"lease", "release-with"}, kinds)

		// A module that the state names, and the server has lost, is stored again.
		db, err := sql.Open("sqlite3", kept.Place)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.Exec("DELETE FROM modules")
		require.NoError(t, err)
		unchanged(t, server.URL, func(string) string { return "" })
		var modules int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM modules").Scan(&modules))
		require.Equal(t, 1, modules)
	})
	t.Run("server of husk with TLS", func(t *testing.T) {
		kept := stacks(t)
		handler := remote.Handler(func(*http.Request) (*remote.Access, error) {
			return &remote.Access{Owner: "a client", Backend: kept, Writes: true, Allows: func(state.StackName, bool) bool { return true }}, nil
		}, intake.ProcessBudget())
		calls := func(request string) string {
			return strings.TrimPrefix(strings.TrimPrefix(request, "POST "+remote.Path), "beat")
		}
		plain := httptest.NewServer(r.counted(handler))
		defer plain.Close()
		want := unchanged(t, plain.URL, calls)

		secure := httptest.NewUnstartedServer(r.counted(handler))
		secure.EnableHTTP2 = true
		secure.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				r.add("connect")
			}
		}
		secure.StartTLS()
		defer secure.Close()
		authority := filepath.Join(t.TempDir(), "authority.pem")
		require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
		t.Setenv("SSL_CERT_FILE", authority)
		require.ElementsMatch(t, append(want, "connect"), unchanged(t, secure.URL, calls), "all calls share a connection")
	})
	t.Run("postgres", func(t *testing.T) {
		s := postgrestest.Start(t)
		through, err := url.Parse(s.URL("postgres", 0))
		require.NoError(t, err)
		through.Host = r.postgres(t, fmt.Sprint("127.0.0.1:", s.Port))
		kinds := unchanged(t, through.String(), func(request string) string {
			for part, kind := range map[string]string{
				"SET token = token +": "lease", "SET lease = NULL": "release", "connect": "", "authenticate": "", "step UPDATE \"husk\".stacks SET expires": "",
			} {
				if strings.Contains(request, part) {
					return kind
				}
			}
			return request
		})
		require.ElementsMatch(t, []string{"lease", "release"}, kinds)
	})
}

// stacks returns a backend whose leases a server can have for its clients.
func stacks(t *testing.T) *backend.Backend {
	b, err := sqlite.Open(t.Context(), "sqlite://"+filepath.ToSlash(filepath.Join(t.TempDir(), "stacks.db")), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// TestARunThatCannotBeRecorded has a server refuse the history of a stack: the update fails, its lock is released, and its
// record says why.
func TestARunThatCannotBeRecorded(t *testing.T) {
	u := usertest.New(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\noutputs: {a: 1}\n"), 0o600))
	kept := stacks(t)
	handler := remote.Handler(func(*http.Request) (*remote.Access, error) {
		return &remote.Access{Owner: "a client", Backend: kept, Writes: true, Allows: func(state.StackName, bool) bool { return true }}, nil
	}, intake.ProcessBudget())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if call := strings.TrimPrefix(r.URL.Path, remote.Path); call == "release-with" || call == "set-history" {
			w.Header().Set(backend.AnswerHeader, backend.Answered) // else it is what stands between
			http.Error(w, "the ledger is full", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	cmd := exec.Command("husk", "up", "--yes")
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), u.Environment...), "HUSK_BACKEND_URL="+server.URL)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "recording the update in the stack's history: ")
	require.Contains(t, string(out), "the ledger is full")

	stack := state.StackName{Project: "demo", Name: "dev"}
	lease, err := kept.State.Lease(t.Context(), stack, state.Holder{})
	require.NoError(t, err, "the lock is released")
	require.NoError(t, lease.Release(t.Context()))
	runs, err := kept.History.List(t.Context(), stack)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	record, err := kept.History.Get(t.Context(), stack, runs[0])
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(record)), "\n")
	require.Contains(t, lines[len(lines)-1], `"result":"failed"`)
	require.Contains(t, lines[len(lines)-1], "the ledger is full")
}

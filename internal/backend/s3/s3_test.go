package s3_test

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

// fakeServer keeps a bucket in memory, which survives restarts.
type fakeServer struct {
	address string
	handler http.Handler
	running *http.Server
	bucket  *s3test.Server
	// full has it refuse whatever needs space, with the code and the status of fullCode.
	full     atomic.Bool
	fullCode string
	status   int
}

// start starts a server with an empty bucket, behind a handler that may change requests.
func start(t *testing.T, change func(*http.Request)) (address string) {
	return startServer(t, change).address
}

// startServer is start for tests that do something with the server.
func startServer(t *testing.T, change func(*http.Request)) *fakeServer {
	return startWith(t, change, nil)
}

// startWith is start with a handler that may answer requests in place of the server.
func startWith(t *testing.T, change func(*http.Request), answer func(http.ResponseWriter, *http.Request) bool) *fakeServer {
	s := &fakeServer{address: "127.0.0.1:0", bucket: s3test.New(), fullCode: "XMinioStorageFull", status: http.StatusInsufficientStorage}
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change != nil {
			change(r)
		}
		if s.full.Load() && r.Method == http.MethodPut {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(s.status)
			_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>There is no space left.</Message></Error>`, s.fullCode)
			return
		}
		if answer == nil || !answer(w, r) {
			s.bucket.ServeHTTP(w, r)
		}
	})
	s.run(t)
	t.Cleanup(func() { _ = s.running.Close() })
	return s
}

func (s *fakeServer) run(t *testing.T) {
	for {
		listener, err := net.Listen("tcp", s.address)
		if errors.Is(err, syscall.EADDRINUSE) {
			time.Sleep(time.Millisecond) // a connection from the same machine may have the port
			continue
		}
		require.NoError(t, err)
		s.address = listener.Addr().String()
		s.running = &http.Server{Handler: s.handler}
		go func(running *http.Server) { _ = running.Serve(listener) }(s.running)
		return
	}
}

// restart has the server end in the middle of whatever it does, and start again after a pause.
func (s *fakeServer) restart(t *testing.T, pause time.Duration) {
	_ = s.running.Close()
	time.Sleep(pause)
	s.run(t)
}

func open(t *testing.T, address, prefix string) *backend.Backend {
	return openURL(t, at(t, plainURL+address, prefix, ""))
}

// openNew opens a backend with objects of its own.
func openNew(t *testing.T, address string) *backend.Backend {
	return open(t, address, cryptorand.Text())
}

func TestS3(t *testing.T) {
	t.Parallel()
	server := startServer(t, nil)
	bucket := plainURL + server.address
	suites(t, bucket, func(proxies *[]*faultproxy.Proxy) []backendtest.Fault {
		return append(server.faults(t, proxies), backendtest.Fault{Times: 40, Cause: faultproxy.Faults(proxies)})
	})
	t.Run("history of processes that are killed and paused", func(t *testing.T) {
		var proxies []*faultproxy.Proxy
		processes := backendtest.NewProcesses(t)
		backendtest.Case{
			SilentAppends: true,
			Open: func(n int) state.Store {
				proxies = append(proxies, faultproxy.Start(t, server.address))
				return processes.Open(n, at(t, bucket, "processes", proxies[len(proxies)-1].Address()))
			},
			Faults: append(server.faults(t, &proxies), backendtest.Fault{Times: 5, Cause: faultproxy.Faults(&proxies)},
				processes.Kill(false, 10), processes.Pause(func() { server.bucket.Jump(time.Minute) }, 5)),
		}.Run(t)
	})
}

// TestMain is also that of the writers of TestS3.
func TestMain(m *testing.M) {
	if os.Getenv(keyVariable) == "" { // a server that the environment names has its own
		_ = os.Setenv(keyVariable, "key")
		_ = os.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	}
	backendtest.Main(m, func(ctx context.Context, url string) (state.Store, error) {
		b, err := s3.Open(ctx, named.ByOperator(url, "the test"), "")
		if err != nil {
			return nil, err
		}
		return b.State, nil
	})
}

// faults are those of a server: it starts again, its clock jumps ahead and back by more than a lease lasts, and its disk
// is full.
func (s *fakeServer) faults(t *testing.T, proxies *[]*faultproxy.Proxy) []backendtest.Fault {
	return []backendtest.Fault{
		{Every: 3, Times: 2, Cause: func(random *rand.Rand) { s.restart(t, time.Duration(random.IntN(100))*time.Millisecond) }},
		{Every: 3, Times: 3, Expires: true, Cause: func(*rand.Rand) { s.bucket.Jump(time.Minute) }},
		{Every: 4, Times: 1, Cause: func(*rand.Rand) { s.bucket.Jump(-time.Minute) }},
		{Times: 5, Cause: func(random *rand.Rand) {
			pause := func() { time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) }
			for _, p := range *proxies {
				p.Cut() // what arrives twice may be taken once, and refused once
			}
			pause()
			p := (*proxies)[random.IntN(len(*proxies))]
			p.Silence()
			pause()
			s.full.Store(true)
			p.Cut() // a request whose answer was lost is sent again now
			pause()
			s.full.Store(false)
		}},
	}
}

// TestFullDisk has the server answer as MinIO does when its disks are full, or the quota of the bucket is used up.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"XMinioStorageFull": http.StatusInsufficientStorage, "XMinioAdminBucketQuotaExceeded": http.StatusBadRequest, "QuotaExceeded": http.StatusForbidden} {
		t.Run(code, func(t *testing.T) {
			server := startServer(t, nil)
			server.fullCode, server.status = code, status
			backendtest.FullDisk(t, openNew(t, server.address), server.full.Store)
		})
	}
}

// TestServersWithoutConditions checks that a server that ignores a condition is refused.
func TestServersWithoutConditions(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"If-None-Match", "If-Match"} {
		t.Run(header, func(t *testing.T) {
			address := start(t, func(r *http.Request) { r.Header.Del(header) })
			err := openNew(t, address).Check(t.Context())
			require.ErrorContains(t, err, header)
			require.ErrorContains(t, err, "overwriting each other's state")
			// Without husk login, too.
			for range 2 {
				err = openNew(t, address).State.Create(t.Context(), state.StackName{Project: "p", Name: "s"}, []byte("{}"))
				require.ErrorContains(t, err, header)
			}
		})
	}
}

// TestProbedOnce counts the requests of commands that nobody has logged in for: one tries the server, and the next ones
// of this machine know it.
func TestProbedOnce(t *testing.T) {
	t.Parallel()
	var probes atomic.Int32
	address := start(t, func(r *http.Request) {
		if strings.Contains(r.URL.Path+r.URL.RawQuery, "probe") {
			probes.Add(1)
		}
	})
	ctx, dir, name := t.Context(), t.TempDir(), state.StackName{Project: "p", Name: "s"}
	open := func(dir string) state.Store {
		b, err := s3.Open(ctx, named.ByOperator(fmt.Sprintf("s3://team/once?endpoint=%s&region=eu-central-1&s3ForcePathStyle=true&disableSSL=true", address), "the test"), dir)
		require.NoError(t, err)
		return b.State
	}
	_, err := open(dir).List(ctx)
	require.NoError(t, err)
	require.Zero(t, probes.Load(), "who only reads needs no right to write")
	require.NoError(t, open(dir).Create(ctx, name, []byte("{}")))
	first := probes.Load()
	require.Positive(t, first)
	l, err := open(dir).Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	require.NoError(t, l.Release(ctx))
	require.Equal(t, first, probes.Load(), "the machine remembers")
	require.NoError(t, open(t.TempDir()).Break(ctx, name))
	require.Greater(t, probes.Load(), first, "another machine does not know")
	nowhere := open("") // as a server does
	require.NoError(t, nowhere.Break(ctx, name))
	second := probes.Load()
	require.NoError(t, nowhere.Break(ctx, name))
	require.Equal(t, second, probes.Load(), "the process remembers")
}

func TestURLs(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for url, want := range map[string]string{
		"s3://team":                                   "no region",
		"s3:///prefix?region=x":                       "form s3://",
		"s3://key:secret@team?region=x":               "credentials are not part",
		"s3://team?region=x.example/":                 "has the region",
		"s3://team?region=x&acl=public":               `parameter "acl"`,
		"s3://team?region=x&s3ForcePathStyle=perhaps": "true or false",
	} {
		_, err := s3.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "key:secret")
	}
	b, err := s3.Open(t.Context(), named.ByOperator("s3://team/infra/?region=eu-central-1", "the test"), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, "s3://team/infra", b.Place)
}

func TestNoBucket(t *testing.T) {
	t.Parallel()
	address := start(t, nil)
	b, err := s3.Open(t.Context(), named.ByOperator("s3://nobody?endpoint=http://"+address+"&region=x&s3ForcePathStyle=true", "the test"), t.TempDir())
	require.NoError(t, err)
	require.ErrorContains(t, b.Check(t.Context()), "check the bucket")
}

// TestLeaseOfAChangedStack has two processes change a stack in turn: each finds what the other has left.
func TestLeaseOfAChangedStack(t *testing.T) {
	t.Parallel()
	address := start(t, nil)
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	mine, others := open(t, address, "turns").State, open(t, address, "turns").State
	require.NoError(t, mine.Create(ctx, name, []byte(`{"is":"first"}`)))
	change := func(s state.Store, was, is string) uint64 {
		t.Helper()
		l, c, err := s.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"is":%q}`, was), string(c.Checkpoint))
		require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("x")))
		require.NoError(t, l.Checkpoint(ctx, c.Sequence+1, fmt.Appendf(nil, `{"is":%q}`, is)))
		require.NoError(t, l.Release(ctx))
		return l.Token()
	}
	first := change(mine, "first", "second")
	second := change(others, "second", "third")
	third := change(mine, "third", "fourth")
	require.Greater(t, second, first)
	require.Greater(t, third, second)
	held, _, err := others.LeaseAndLoad(ctx, name, state.Holder{PID: 2})
	require.NoError(t, err)
	_, _, err = mine.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrLocked)
	require.NoError(t, held.Remove(ctx))
	require.NoError(t, held.Release(ctx))
	_, _, err = mine.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrStackNotFound)
}

// TestLeaseThatIsLostWhileItIsTaken has another process take a lease away, and replace the checkpoint, while its holder
// still reads the state: the objects of the journal disappear meanwhile.
func TestLeaseThatIsLostWhileItIsTaken(t *testing.T) {
	t.Parallel()
	var meanwhile atomic.Pointer[func()]
	server := startServer(t, func(r *http.Request) {
		if !r.URL.Query().Has("list-type") {
			return
		}
		if do := meanwhile.Swap(nil); do != nil {
			(*do)()
		}
	})
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	mine, others := open(t, server.address, "lost").State, open(t, server.address, "lost").State
	require.NoError(t, mine.Create(ctx, name, []byte(`{"is":"first"}`)))
	l, c, err := others.LeaseAndLoad(ctx, name, state.Holder{PID: 2})
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("record")))
	require.NoError(t, l.Release(ctx))
	replace := func() {
		for taken := false; !taken; {
			head := httptest.NewRecorder()
			server.handler.ServeHTTP(head, httptest.NewRequest(http.MethodGet, "/team/lost/stacks/p/s.json", nil))
			taken = strings.Contains(head.Body.String(), `"lease":{`)
		}
		require.NoError(t, others.Break(ctx, name))
		l, c, err := others.LeaseAndLoad(ctx, name, state.Holder{PID: 2})
		require.NoError(t, err)
		require.Len(t, c.Records, 1)
		require.NoError(t, l.Checkpoint(ctx, c.Sequence+1, []byte(`{"is":"second"}`)))
		require.NoError(t, l.Release(ctx))
	}
	meanwhile.Store(&replace)
	_, _, err = mine.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrFenced)
}

// TestMissingRecord removes the last record of a journal that its writer has ended.
func TestMissingRecord(t *testing.T) {
	t.Parallel()
	server := startServer(t, nil)
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	store := open(t, server.address, "missing").State
	require.NoError(t, store.Create(ctx, name, []byte("{}")))
	l, _, err := store.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	for n := range uint64(3) {
		require.NoError(t, l.Append(ctx, n+1, []byte("record")))
	}
	require.NoError(t, l.Release(ctx))
	ask := func(method, path string) string {
		answer := httptest.NewRecorder()
		server.handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		return answer.Body.String()
	}
	keys := regexp.MustCompile("<Key>([^<]*/journal/[^<]*)</Key>").FindAllStringSubmatch(ask(http.MethodGet, "/team?list-type=2&prefix=missing/data/"), -1)
	require.Len(t, keys, 3)
	ask(http.MethodDelete, "/team/"+keys[2][1])
	_, err = store.Load(ctx, name)
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "record 3 of the stack p/s is missing")
	_, _, err = store.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrCorrupt)
	l, err = store.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	salvage, err := l.Salvage(ctx)
	require.NoError(t, err)
	require.Len(t, salvage.Records, 2)
	require.NoError(t, l.Release(ctx))
}

// TestFullAfterARepeatedRequest has a proxy before the server send each write twice. The first is taken, and the second
// refused because there is no space for it any more.
func TestFullAfterARepeatedRequest(t *testing.T) {
	t.Parallel()
	server := startServer(t, nil)
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	store := open(t, server.address, "twice").State
	require.NoError(t, store.Create(ctx, name, []byte("{}")))
	once := server.handler
	server.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			once.ServeHTTP(w, r)
			return
		}
		first := httptest.NewRecorder()
		once.ServeHTTP(first, r)
		if first.Code != http.StatusOK {
			for key, values := range first.Header() {
				w.Header()[key] = values
			}
			w.WriteHeader(first.Code)
			_, _ = w.Write(first.Body.Bytes())
			return
		}
		server.full.Store(true)
		once.ServeHTTP(w, r)
		server.full.Store(false)
	})
	server.restart(t, 0)
	l, c, err := store.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("one")))
	require.NoError(t, l.Append(ctx, c.Sequence+2, []byte("two")))
	c, err = store.Load(ctx, name)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, c.Records)
	require.NoError(t, l.Release(ctx))
	l, err = store.Lease(ctx, name, state.Holder{PID: 2})
	require.NoError(t, err)
	require.NoError(t, l.Release(ctx))
}

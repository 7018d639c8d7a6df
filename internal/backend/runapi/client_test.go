package runapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
)

func serve(t *testing.T, handler http.HandlerFunc) *runapi.Client {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := runapi.NewClient(server.URL, "token")
	require.NoError(t, err)
	return client
}

// A server that says when to be asked again is asked then.
func TestRetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var asked, early atomic.Int64
			var from time.Time
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				if asked.Add(1) == 1 {
					from = time.Now()
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(status)
					return
				}
				if time.Since(from) < time.Second {
					early.Add(1)
				}
				_, _ = io.Copy(io.Discard, r.Body)
			})
			require.NoError(t, client.SendBundle(t.Context(), "sha256:x", make([]byte, 4<<20)))
			require.EqualValues(t, 2, asked.Load())
			require.Zero(t, early.Load())
		})
	}
}

// A body that has not come whole is sent again: the way to the server was cut, or hung.
func TestABodyThatWasCutOffIsSentAgain(t *testing.T) {
	var asked atomic.Int64
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(backend.AnswerHeader, backend.Answered)
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	})
	_, err := client.Call(t.Context(), http.MethodPost, "/", "body", nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, asked.Load())
}

// A server that hangs, one of several, is given up for another.
func TestAServerThatHangs(t *testing.T) {
	var asked atomic.Int64
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the client is gone
		if asked.Add(1) == 1 {
			<-r.Context().Done()
		}
	})
	_, err := client.AttemptsOf(100*time.Millisecond).Call(t.Context(), http.MethodPost, "/", "body", nil)
	require.NoError(t, err)
	require.Greater(t, asked.Load(), int64(1))
}

// One that says so for longer than the client waits at all is believed.
func TestRetryMuchLater(t *testing.T) {
	var asked atomic.Int64
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":"the team is to wait"}`)
	})
	_, err := client.Call(t.Context(), http.MethodGet, "/", nil, nil)
	require.ErrorContains(t, err, "the team is to wait")
	require.ErrorIs(t, err, runapi.ErrUnreachable)
	require.EqualValues(t, 1, asked.Load())
}

// The files of a project are not sent to a server that does not take them.
func TestRefusedBeforeItIsSent(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && r.Header.Get("Expect") != "100-continue" {
			t.Error("it was sent without a question")
		}
		w.WriteHeader(map[bool]int{true: http.StatusForbidden, false: http.StatusNotFound}[r.Method == http.MethodPut])
	})
	var refused *runapi.StatusError
	require.ErrorAs(t, client.SendBundle(t.Context(), "sha256:x", make([]byte, 32<<20)), &refused)
	require.Equal(t, http.StatusForbidden, refused.Status)
}

// Tokens go to other machines without encryption only where the operator says that the network encrypts.
func TestPlainHTTP(t *testing.T) {
	open := map[string]func(url string) error{
		"commands": func(url string) error {
			_, err := runapi.NewClient(url, "token")
			return err
		},
		"stacks": func(url string) error {
			_, err := remote.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
			return err
		},
	}
	for what, open := range open {
		t.Setenv(backend.PlainHTTPVariable, "")
		require.NoError(t, open("http://127.0.0.1:8470"), what)
		require.NoError(t, open("https://husk.example.com"), what)
		require.ErrorContains(t, open("http://husk-server:8470"), "is http://husk-server:8470: anybody on the way could read the token", what)
		t.Setenv(backend.PlainHTTPVariable, "husk.internal,husk-server")
		require.NoError(t, open("http://husk-server:8470"), what)
		require.ErrorContains(t, open("http://server:8470"), "name the host in HUSK_PLAIN_HTTP", what)
	}
}

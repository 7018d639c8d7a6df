package s3_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/base/named"
)

const plainURL, tlsURL = "s3://team?region=x&s3ForcePathStyle=true&disableSSL=true&endpoint=", "s3://team?region=x&s3ForcePathStyle=true&endpoint="

var stackName = state.StackName{Project: "p", Name: "s"}

// answer answers as a server of S3 that refuses a request.
func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>No.</Message><Region>eu-north-1</Region></Error>`, code)
}

// TestRefusals checks what errors advise, and that a refused request is sent once.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status       int
		code, advice string
	}{
		{http.StatusNotFound, "NoSuchBucket", "No; check the bucket in the URL"},
		{http.StatusBadRequest, "InvalidBucketName", "No; check the bucket in the URL"},
		{http.StatusForbidden, "InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID"},
		{http.StatusForbidden, "SignatureDoesNotMatch", "check AWS_ACCESS_KEY_ID"},
		{http.StatusBadRequest, "ExpiredToken", "check AWS_SESSION_TOKEN"},
		{http.StatusForbidden, "AccessDenied", "lack the right s3:PutObject; husk needs s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket"},
		{http.StatusBadRequest, "AuthorizationHeaderMalformed", "set region=eu-north-1 in the URL"},
		{http.StatusForbidden, "RequestTimeTooSkewed", "set the clock of this machine"},
		{http.StatusNotImplemented, "NotImplemented", "does not implement If-None-Match: it cannot keep two runs from overwriting"},
	} {
		t.Run(test.code, func(t *testing.T) {
			var writes atomic.Int32
			server := startWith(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut {
					return false
				}
				writes.Add(1)
				answer(w, test.status, test.code)
				return true
			})
			require.ErrorContains(t, openNew(t, server.address).State.Create(t.Context(), stackName, []byte("{}")), test.advice)
			require.EqualValues(t, 1, writes.Load())
		})
	}
}

// TestBrokenRequests checks that a request which has not arrived as a whole, or at a bad moment, is sent again.
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{
		"IncompleteBody": http.StatusBadRequest, "RequestTimeout": http.StatusBadRequest, "SlowDown": http.StatusServiceUnavailable,
		"ConditionalRequestConflict": http.StatusConflict, "TooManyRequests": http.StatusTooManyRequests, "InternalError": http.StatusInternalServerError,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			var requests sync.Map
			server := startWith(t, nil, func(w http.ResponseWriter, r *http.Request) bool {
				if _, again := requests.LoadOrStore(r.Method+r.URL.String(), true); again {
					return false
				}
				answer(w, status, code)
				return true
			})
			b := openNew(t, server.address)
			require.NoError(t, b.Check(t.Context()))
			require.NoError(t, b.State.Create(t.Context(), stackName, []byte("{}")))
		})
	}
}

// TestWrongEndpoints checks that what never answers as S3 does is given up before a command has waited for long.
func TestWrongEndpoints(t *testing.T) {
	t.Parallel()
	check := func(url string) error {
		// A wait as for a server that has answered before would end with another error.
		const long = 40 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		b, err := s3.Open(ctx, named.ByOperator(url, "the test"), t.TempDir())
		require.NoError(t, err)
		return b.Check(ctx)
	}
	t.Run("nobody listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		require.ErrorContains(t, check(plainURL+listener.Addr().String()), "check the endpoint in the URL")
	})
	t.Run("ends all connections", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is asked for five seconds")
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		require.ErrorContains(t, check(plainURL+listener.Addr().String()), "check the endpoint in the URL")
	})
	t.Run("another server", func(t *testing.T) {
		other := httptest.NewServer(http.NotFoundHandler())
		defer other.Close()
		require.ErrorContains(t, check(plainURL+strings.TrimPrefix(other.URL, "http://")), "check the endpoint and the bucket in the URL")
	})
	t.Run("no TLS", func(t *testing.T) {
		other := httptest.NewServer(http.NotFoundHandler())
		defer other.Close()
		require.ErrorContains(t, check(tlsURL+strings.TrimPrefix(other.URL, "http://")), "add disableSSL=true to the URL")
	})
}

func TestUnknownAuthority(t *testing.T) {
	var handshakes atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			handshakes.Add(1)
		}
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	url := tlsURL + strings.TrimPrefix(server.URL, "https://")
	require.ErrorContains(t, openURL(t, url).Check(t.Context()), "set SSL_CERT_FILE to a file")
	file := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	require.ErrorContains(t, openURL(t, url).Check(t.Context()), "check the endpoint and the bucket")
	require.EqualValues(t, 2, handshakes.Load(), "neither is tried again")
}

func TestNoCredentials(t *testing.T) {
	address := start(t, nil)
	useKey(t, "", "", "")
	t.Setenv("HOME", t.TempDir())
	machine := httptest.NewServer(http.NotFoundHandler())
	defer machine.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", machine.URL)
	b := openNew(t, address)
	require.ErrorContains(t, b.Check(t.Context()), "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	_, err := b.State.List(t.Context())
	require.ErrorContains(t, err, "there are no credentials")
	useKey(t, "key", "secret", "")
	require.NoError(t, b.Check(t.Context()))
}

// TestServerComesBack checks that a server which has answered before is waited for.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	server := startWith(t, nil, nil)
	b := openNew(t, server.address)
	require.NoError(t, b.Check(t.Context()))
	_ = server.running.Close()
	created := make(chan error)
	go func() { created <- b.State.Create(t.Context(), stackName, []byte("{}")) }()
	select {
	case err := <-created:
		require.Fail(t, "it has not waited", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	server.run(t)
	require.NoError(t, <-created)
}

// TestProbeWithLostAnswers checks that a server which honours conditions is not refused because an answer gets lost.
func TestProbeWithLostAnswers(t *testing.T) {
	t.Parallel()
	var lost, requests atomic.Int32
	server := startWith(t, nil, nil)
	inner := server.handler
	server.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == lost.Load() {
			inner.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		inner.ServeHTTP(w, r)
	})
	server.restart(t, 0)
	require.NoError(t, openNew(t, server.address).Check(t.Context()))
	for all := requests.Load(); lost.Load() < all; {
		lost.Add(1)
		requests.Store(0)
		require.NoError(t, openNew(t, server.address).Check(t.Context()), "answer %d is lost", lost.Load())
		require.Greater(t, requests.Load(), all)
	}
}

// TestStalls checks that a request which is not answered is sent again, and that an answer which takes longer than that
// because it is large is waited for.
func TestStalls(t *testing.T) {
	const limit = 200 * time.Millisecond
	large := bytes.Repeat([]byte("x"), 1<<20) // which has some seconds more
	server := startWith(t, nil, nil)
	require.NoError(t, openNew(t, server.address).Check(t.Context()))
	require.NoError(t, open(t, server.address, "stalls").State.Create(t.Context(), stackName, large))
	inner := server.handler
	load := func(t *testing.T, handler func(http.ResponseWriter, *http.Request)) {
		server.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/checkpoints/") {
				handler(w, r)
				return
			}
			inner.ServeHTTP(w, r)
		})
		server.restart(t, 0)
		b := open(t, server.address, "stalls")
		s3.SetAttemptTime(b, limit)
		c, err := b.State.Load(t.Context(), stackName)
		require.NoError(t, err)
		require.Equal(t, large, c.Checkpoint)
	}
	t.Run("no answer", func(t *testing.T) {
		var asked atomic.Bool
		load(t, func(w http.ResponseWriter, r *http.Request) {
			if !asked.Swap(true) {
				<-r.Context().Done()
				return
			}
			inner.ServeHTTP(w, r)
		})
	})
	t.Run("half of an answer", func(t *testing.T) {
		load(t, func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			inner.ServeHTTP(answer, r)
			maps.Copy(w.Header(), answer.Header())
			w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
			half := answer.Body.Next(answer.Body.Len() / 2)
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(2 * limit)
			_, _ = w.Write(answer.Body.Bytes())
		})
	})
}

package capability

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// readerOf reads an exchange as a guest does, which waits in between.
type readerOf struct {
	t *testing.T
	d *Descriptors
	wasi.Socket
}

func (r readerOf) Read(p []byte) (int, error) {
	for !r.Ready(false) {
		select {
		case <-r.d.Changed():
		case <-r.t.Context().Done():
			return 0, r.t.Context().Err()
		}
	}
	return r.Socket.Read(p)
}

func TestHTTPStreams(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "cut")
		case "/large":
			w.Header().Set("Content-Length", "1000000")
			w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
		default:
			echo(w, r)
		}
	}))
	defer server.Close()
	h := newHTTP(t, nil, server.URL)
	h.Descriptors = NewDescriptors()
	// exchange sends the body in parts after the request, nil for a whole one.
	exchange := func(t *testing.T, r abi.HTTPRequest, parts ...string) (abi.HTTPExchange, *http.Response) {
		t.Helper()
		x, err := h.Begin(t.Context(), r, parts == nil)
		require.NoError(t, err)
		s := h.Socket(uint32(x))
		require.NotNil(t, s)
		for _, part := range parts {
			n, err := s.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		require.NoError(t, s.CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(readerOf{t, h.Descriptors, s}), &http.Request{Method: r.Method})
		require.NoError(t, err)
		return x, response
	}

	t.Run("of which the body is whole", func(t *testing.T) {
		x, response := exchange(t, abi.HTTPRequest{Method: "PUT", URL: server.URL + "/a?b", Body: []byte("body")})
		require.Equal(t, http.StatusTeapot, response.StatusCode)
		require.Equal(t, []string{"a", "b"}, response.Header["X-Twice"])
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, `PUT /a?b HTTP/1.1 4 [] ["husk"] body`, string(body))
		require.Equal(t, "4", response.Trailer.Get("X-Sum"))
		require.NoError(t, h.Status(t.Context(), x))
		h.Close(t.Context(), x)
		require.Nil(t, h.Socket(uint32(x)))
	})
	t.Run("of which the body follows", func(t *testing.T) {
		x, response := exchange(t, abi.HTTPRequest{Method: "POST", URL: server.URL, Body: []byte("one ")}, "two ", "three")
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, `POST / HTTP/1.1 -1 [chunked] ["husk"] one two three`, string(body))
		_, err = h.Socket(uint32(x)).Write([]byte("more"))
		require.ErrorIs(t, err, syscall.EPIPE)
		h.Close(t.Context(), x)
	})
	t.Run("without a body", func(t *testing.T) {
		x, response := exchange(t, abi.HTTPRequest{Method: "HEAD", URL: server.URL + "/large"})
		require.EqualValues(t, 1_000_000, response.ContentLength)
		rest, err := io.ReadAll(readerOf{t, h.Descriptors, h.Socket(uint32(x))})
		require.NoError(t, err)
		require.Empty(t, rest)
		h.Close(t.Context(), x)
	})
	t.Run("with a large body", func(t *testing.T) {
		x, response := exchange(t, abi.HTTPRequest{Method: "GET", URL: server.URL + "/large"})
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("0123456789", 100_000), string(body))
		h.Close(t.Context(), x)
	})
	t.Run("cut off", func(t *testing.T) {
		x, response := exchange(t, abi.HTTPRequest{Method: "GET", URL: server.URL + "/cut"})
		body, err := io.ReadAll(response.Body)
		require.ErrorIs(t, err, syscall.EIO)
		require.Equal(t, "cut", string(body))
		err = h.Status(t.Context(), x)
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "GET "+server.URL+"/cut: ")
		h.Close(t.Context(), x)
	})
	t.Run("given up", func(t *testing.T) {
		for range 2 * MaxHTTPExchanges {
			x, err := h.Begin(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL + "/large"}, false)
			require.NoError(t, err)
			h.Close(t.Context(), x)
		}
		require.Zero(t, h.Count())
	})
	// Another goroutine of the host receives the response meanwhile, which the race detector watches.
	t.Run("as if it were one in parts", func(t *testing.T) {
		x, err := h.Begin(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL + "/large"}, true)
		require.NoError(t, err)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, err := http.ReadResponse(bufio.NewReader(readerOf{t, h.Descriptors, h.open[x].streamed}), nil)
			assert.NoError(t, err)
		}()
		for done := false; !done; {
			select {
			case <-answered:
				done = true
			default:
			}
			_, err := h.Read(t.Context(), x, 10)
			require.ErrorContains(t, err, "the HTTP exchange is a descriptor")
			require.ErrorIs(t, err, abi.ErrInvalidArgument)
			_, err = h.Finish(t.Context(), x)
			require.ErrorContains(t, err, "the HTTP exchange is a descriptor")
			require.ErrorContains(t, h.Write(t.Context(), x, []byte("more")), "the HTTP exchange is a descriptor")
			require.NoError(t, h.Status(t.Context(), x))
		}
		h.Close(t.Context(), x)
	})
	t.Run("refused", func(t *testing.T) {
		_, err := h.Begin(t.Context(), abi.HTTPRequest{Method: "GET", URL: "https://example.org/"}, true)
		require.ErrorIs(t, err, abi.ErrDenied)
		_, err = h.Begin(t.Context(), abi.HTTPRequest{
			Method: "PUT", URL: server.URL, Headers: []abi.HTTPHeader{{Name: "Content-Length", Value: []byte("1")}},
		}, true)
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
		require.NoError(t, err)
		require.Nil(t, h.Socket(uint32(x)))
		require.ErrorIs(t, h.Status(t.Context(), x), abi.ErrInvalidArgument)
		h.Close(t.Context(), x)
		require.True(t, errors.Is(h.Status(t.Context(), 99), abi.ErrNotFound))
	})
}

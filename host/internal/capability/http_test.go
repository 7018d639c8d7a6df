package capability

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
)

// newHTTP is what a provider with these grants gets.
func newHTTP(t *testing.T, roots *x509.CertPool, grants ...string) *HTTP {
	t.Helper()
	var parsed []grant.HTTP
	for _, text := range grants {
		g, err := grant.ParseHTTP(text)
		require.NoError(t, err)
		parsed = append(parsed, g)
	}
	client := NewHTTPClient(parsed, roots, nil)
	t.Cleanup(client.Close)
	return &HTTP{Client: client, Ledger: unbounded{}}
}

// echo responds with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Trailer", "X-Sum")
	w.Header()["X-Twice"] = []string{"a", "b"}
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(w, "%s %s %s %d %v %q %s", r.Method, r.RequestURI, r.Proto, r.ContentLength, r.TransferEncoding, r.Header["User-Agent"], body)
	w.Header().Set("X-Sum", fmt.Sprint(len(body)))
}

func header(list []abi.HTTPHeader, name string) (values []string) {
	for _, h := range list {
		if h.Name == name {
			values = append(values, string(h.Value))
		}
	}
	return values
}

// readAllOf reads a response in parts.
func readAllOf(t *testing.T, h *HTTP, x abi.HTTPExchange) (body string, trailers []abi.HTTPHeader) {
	t.Helper()
	for {
		chunk, err := h.Read(t.Context(), x, 7)
		require.NoError(t, err)
		require.LessOrEqual(t, len(chunk.Data), 7)
		if len(chunk.Data) == 0 {
			return body, chunk.Trailers
		}
		body += string(chunk.Data)
	}
}

func TestHTTPExchanges(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	h := newHTTP(t, nil, server.URL)

	t.Run("as a whole", func(t *testing.T) {
		for method, want := range map[string]string{"GET": "0 []", "POST": "0 []"} {
			r, err := h.Send(t.Context(), abi.HTTPRequest{Method: method, URL: server.URL + "/a%2Fb?c=d"})
			require.NoError(t, err)
			require.Equal(t, method+` /a%2Fb?c=d HTTP/1.1 `+want+` ["husk"] `, string(r.Body))
		}
		r, err := h.Send(t.Context(), abi.HTTPRequest{
			Method: "PUT", URL: server.URL, Body: []byte("body"),
			Headers: []abi.HTTPHeader{{Name: "user-agent", Value: []byte("test")}},
		})
		require.NoError(t, err)
		require.Equal(t, `PUT / HTTP/1.1 4 [] ["test"] body`, string(r.Body))
		require.EqualValues(t, http.StatusTeapot, r.Status)
		require.Equal(t, []string{"a", "b"}, header(r.Headers, "X-Twice"))
		require.Equal(t, []string{"4"}, header(r.Trailers, "X-Sum"))
	})

	t.Run("in parts", func(t *testing.T) {
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL, Body: []byte("one ")})
		require.NoError(t, err)
		require.NoError(t, h.Write(t.Context(), x, []byte("two ")))
		require.NoError(t, h.Write(t.Context(), x, nil))
		require.NoError(t, h.Write(t.Context(), x, []byte("three")))
		head, err := h.Finish(t.Context(), x)
		require.NoError(t, err)
		require.EqualValues(t, http.StatusTeapot, head.Status)
		body, trailers := readAllOf(t, h, x)
		require.Equal(t, `POST / HTTP/1.1 -1 [chunked] ["husk"] one two three`, body)
		require.Equal(t, []string{"13"}, header(trailers, "X-Sum"))
		_, err = h.Finish(t.Context(), x)
		require.ErrorContains(t, err, "finished before")
		require.ErrorContains(t, h.Write(t.Context(), x, nil), "ended before")
		h.Close(t.Context(), x)
		h.Close(t.Context(), x)
		_, err = h.Read(t.Context(), x, 1)
		require.ErrorIs(t, err, abi.ErrNotFound)
	})

	t.Run("in parts, of a known length", func(t *testing.T) {
		length := []abi.HTTPHeader{{Name: "Content-Length", Value: []byte("6")}}
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL, Headers: length})
		require.NoError(t, err)
		require.NoError(t, h.Write(t.Context(), x, []byte("abc")))
		require.NoError(t, h.Write(t.Context(), x, []byte("def")))
		_, err = h.Finish(t.Context(), x)
		require.NoError(t, err)
		body, _ := readAllOf(t, h, x)
		require.Equal(t, `POST / HTTP/1.1 6 [] ["husk"] abcdef`, body)

		_, err = h.Send(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL, Headers: length, Body: []byte("abc")})
		require.ErrorContains(t, err, "the request's Content-Length is 6, but its body has 3 bytes")
	})

	t.Run("out of order", func(t *testing.T) {
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
		require.NoError(t, err)
		_, err = h.Read(t.Context(), x, 1)
		require.ErrorContains(t, err, "finish the request first")
		h.Close(t.Context(), x)
	})

	t.Run("as many as are allowed", func(t *testing.T) {
		h := &HTTP{Client: h.Client, Ledger: unbounded{}}
		for range MaxHTTPExchanges {
			_, err := h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
			require.NoError(t, err)
		}
		_, err := h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "64 HTTP exchanges of the call are open already")
		h.Close(t.Context(), 1)
		_, err = h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
		require.NoError(t, err)
	})
}

func TestHTTPRequestsThatCannotBeSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	h := newHTTP(t, nil, server.URL)
	at := strings.TrimPrefix(server.URL, "http://")
	many := make([]abi.HTTPHeader, MaxHTTPHeaders+1)
	for name, test := range map[string]struct {
		request abi.HTTPRequest
		want    string
	}{
		"URL":            {abi.HTTPRequest{Method: "GET", URL: "/a"}, "does not begin with https:// or http://"},
		"secret in URL":  {abi.HTTPRequest{Method: "GET", URL: "http://x/%zz?key=hunter2"}, `invalid URL escape "%zz"`},
		"user in URL":    {abi.HTTPRequest{Method: "GET", URL: "http://u:hunter2@" + at}, "Authorization"},
		"no method":      {abi.HTTPRequest{URL: server.URL}, "is not a method"},
		"smuggled line":  {abi.HTTPRequest{Method: "GET / HTTP/1.1\r\nX:", URL: server.URL}, "is not a method"},
		"tunnel":         {abi.HTTPRequest{Method: "CONNECT", URL: server.URL}, "is not a method that can be sent"},
		"echo":           {abi.HTTPRequest{Method: "TRACE", URL: server.URL}, "is not a method that can be sent"},
		"header name":    {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "a b"}}}, `"a b" is not the name of a header`},
		"header value":   {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "a", Value: []byte("b\r\nc: d")}}}, "control character"},
		"another host":   {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "host", Value: []byte("example.org")}}}, "the URL's host is " + at},
		"another length": {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "content-length", Value: []byte("-1")}}}, "is not a Content-Length"},
		"chunked":        {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "transfer-encoding", Value: []byte("chunked")}}}, "is of the connection"},
		"upgrade":        {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "Upgrade", Value: []byte("websocket")}}}, "is of the connection"},
		"many headers":   {abi.HTTPRequest{Headers: many}, "it has 257 headers, at most 256 are possible"},
		"large headers":  {abi.HTTPRequest{Headers: []abi.HTTPHeader{{Name: "a", Value: make([]byte, MaxHTTPHeaderBytes)}}}, "more than 262144 bytes"},
		"large body":     {abi.HTTPRequest{Body: make([]byte, MaxHTTPBody+1)}, "at most 33554432 can be sent as a whole"},
	} {
		r := test.request
		if r.URL == "" {
			r.Method, r.URL = "GET", server.URL
		}
		_, err := h.Send(t.Context(), r)
		require.ErrorIs(t, err, abi.ErrInvalidArgument, name)
		require.ErrorContains(t, err, test.want, name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
	_, err := h.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL, Headers: []abi.HTTPHeader{{Name: "Host", Value: []byte(at)}}})
	require.NoError(t, err, "the URL's own host is what Host may be")
}

func TestHTTPDenials(t *testing.T) {
	const add = "\nto grant it, add to the provider's grants: http "
	none := newHTTP(t, nil)
	_, err := none.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: "https://api.example.org/v1/pets?key=hunter2"})
	require.ErrorIs(t, err, abi.ErrDenied)
	require.EqualError(t, err, "the provider may not send GET https://api.example.org/v1/pets: nothing under its grants: http allows it"+add+"https://api.example.org")
	require.Equal(t, abi.ErrorOriginHost, abi.AsError(err).Origin)

	some := newHTTP(t, nil, "https://api.example.org/v1", "http://127.0.0.1:8080")
	_, err = some.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: "https://api.example.org:8443/"})
	require.EqualError(t, err, "the provider may not send GET https://api.example.org:8443/: its grants: http are https://api.example.org/v1, http://127.0.0.1:8080"+add+"https://api.example.org:8443")

	g, err := grant.ParseHTTP("https://api.example.org/v1", "GET", "HEAD")
	require.NoError(t, err)
	reads := &HTTP{Client: NewHTTPClient([]grant.HTTP{g}, nil, nil), Ledger: unbounded{}}
	_, err = reads.Send(t.Context(), abi.HTTPRequest{Method: "DELETE", URL: "https://api.example.org/v1/a"})
	require.EqualError(t, err, "the provider may not send DELETE https://api.example.org/v1/a: its grants: http allow only GET, HEAD there"+
		add+"https://api.example.org/v1 with the methods GET, HEAD, DELETE")
}

func TestHTTPIsNotRedirected(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	server := httptest.NewServer(http.RedirectHandler("http://example.org/", http.StatusFound))
	defer server.Close()
	r, err := newHTTP(t, nil, server.URL).Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
	require.NoError(t, err)
	require.EqualValues(t, http.StatusFound, r.Status)
	require.Equal(t, []string{"http://example.org/"}, header(r.Headers, "Location"))
}

func TestHTTPOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r, err := newHTTP(t, roots, server.URL).Send(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL, Body: []byte("x")})
	require.NoError(t, err)
	require.Equal(t, `POST / HTTP/2.0 1 [] ["husk"] x`, string(r.Body))
	require.Equal(t, []string{"1"}, header(r.Trailers, "X-Sum"))

	_, err = newHTTP(t, nil, server.URL).Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.Equal(t, abi.ErrorOriginRemote, abi.AsError(err).Origin)
	require.ErrorContains(t, err, "GET "+server.URL+": tls: failed to verify certificate")
}

// A response over HTTP/2 that is not read holds back no other one, and one that never begins ends.
func TestResponsesOverHTTP2AreBounded(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hints":
			w.Header().Set("Link", strings.Repeat("x", 1000))
			for r.Context().Err() == nil {
				w.WriteHeader(http.StatusEarlyHints)
			}
		case "/large":
			zeros := make([]byte, 64<<10)
			for r.Context().Err() == nil {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		default:
			fmt.Fprint(w, r.Proto)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	h := newHTTP(t, roots, server.URL)
	for range MaxHTTPExchanges {
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL + "/large"})
		require.NoError(t, err)
		_, err = h.Finish(t.Context(), x)
		require.NoError(t, err)
	}
	r, err := h.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL})
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", string(r.Body))
	_, err = h.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: server.URL + "/hints"})
	require.ErrorContains(t, err, "header")
	h.CloseAll()
}

func TestHTTPFailures(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			select {
			case <-r.Context().Done():
			case <-released:
			}
		case "/trickle":
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-released:
			}
		case "/cut":
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "cut")
		case "/huge":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			zeros := make([]byte, 1<<20)
			for range MaxHTTPBody/len(zeros) + 1 {
				z.Write(zeros)
			}
			z.Close()
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 2*MaxHTTPHeaderBytes))
		case "/refuse":
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}))
	defer server.Close()
	defer close(released)
	h := newHTTP(t, nil, server.URL)
	get := func(ctx context.Context, path string, timeout uint64) error {
		_, err := h.Send(ctx, abi.HTTPRequest{Method: "GET", URL: server.URL + path + "?key=hunter2", TimeoutMs: timeout})
		require.Error(t, err, path)
		require.NotContains(t, err.Error(), "hunter2")
		return err
	}

	t.Run("timeout", func(t *testing.T) {
		for _, path := range []string{"/hang", "/trickle"} {
			err := get(t.Context(), path, 50)
			require.ErrorIs(t, err, abi.ErrUnavailable)
			require.EqualError(t, err, "GET "+server.URL+path+": it took longer than 50ms")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		require.ErrorIs(t, get(ctx, "/hang", 0), abi.ErrCancelled)
		require.ErrorIs(t, get(ctx, "/", 0), abi.ErrCancelled)
	})
	t.Run("cancelled while the body is sent", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		x, err := h.Open(ctx, abi.HTTPRequest{Method: "POST", URL: server.URL + "/hang"})
		require.NoError(t, err)
		time.AfterFunc(20*time.Millisecond, cancel)
		for err == nil {
			err = h.Write(ctx, x, make([]byte, 64<<10))
		}
		require.ErrorIs(t, err, abi.ErrCancelled)
		h.Close(ctx, x)
	})
	t.Run("answered before the body is sent", func(t *testing.T) {
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "POST", URL: server.URL + "/refuse"})
		require.NoError(t, err)
		for range 64 {
			require.NoError(t, h.Write(t.Context(), x, make([]byte, 64<<10)))
		}
		head, err := h.Finish(t.Context(), x)
		require.NoError(t, err)
		require.EqualValues(t, http.StatusRequestEntityTooLarge, head.Status)
		h.Close(t.Context(), x)
	})
	t.Run("nobody there", func(t *testing.T) {
		closed := httptest.NewServer(nil)
		closed.Close()
		h := newHTTP(t, nil, closed.URL)
		_, err := h.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: closed.URL})
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "connection refused")
		x, err := h.Open(t.Context(), abi.HTTPRequest{Method: "POST", URL: closed.URL})
		require.NoError(t, err)
		for err == nil {
			err = h.Write(t.Context(), x, []byte("x"))
		}
		require.ErrorContains(t, err, "connection refused")
	})
	t.Run("cut off", func(t *testing.T) { require.ErrorContains(t, get(t.Context(), "/cut", 0), "unexpected EOF") })
	t.Run("too large, once decompressed", func(t *testing.T) {
		require.ErrorContains(t, get(t.Context(), "/huge", 0), "/huge: the response has more than 33554432 bytes")
	})
	t.Run("too large headers", func(t *testing.T) {
		require.ErrorContains(t, get(t.Context(), "/headers", 0), "server response headers exceeded")
	})
}

// A name that is granted must not lead into the operator's own network.
func TestHTTPChecksTheAddressThatANameLeadsTo(t *testing.T) {
	var asked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer server.Close()
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	named := "http://trap.example.org:" + u.Port()

	for granted, grants := range map[bool][]string{false: {named}, true: {named, server.URL}} {
		h := newHTTP(t, nil, grants...)
		h.Client.dialer.Resolver = resolverTo(net.IPv4(127, 0, 0, 1))
		_, err := h.Send(t.Context(), abi.HTTPRequest{Method: "GET", URL: named + "/a"})
		require.Equal(t, granted, asked.Swap(false))
		if granted {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, abi.ErrDenied)
		require.EqualError(t, err, "GET "+named+"/a: trap.example.org leads to 127.0.0.1, which is this machine\n"+
			"to grant it, add to the provider's grants: http "+server.URL)
	}
}

// resolverTo is a resolver for which each name has this address.
func resolverTo(ip net.IP) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			for {
				var size uint16 // as DNS over a stream has it (RFC 1035, 4.2.2)
				if binary.Read(theirs, binary.BigEndian, &size) != nil {
					return
				}
				query := make([]byte, size)
				if _, err := io.ReadFull(theirs, query); err != nil {
					return
				}
				const header = 12
				name := bytes.IndexByte(query[header:], 0) + 1
				question := query[header : header+name+4]
				answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
				if isA := question[name+1] == 1; isA {
					answer[7] = 1
					answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
					answer = append(answer, ip.To4()...)
				}
				theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			}
		}()
		return ours, nil
	}}
}

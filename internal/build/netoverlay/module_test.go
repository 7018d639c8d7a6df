package netoverlay_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// module returns the fixture with grants such as "http URL" and "tcp HOST:PORT", in a host that trusts the
// roots.
func module(t testing.TB, roots *x509.CertPool, grants ...string) abi.Provider {
	t.Helper()
	m := testmodule.Load(t, "./testdata/guest", host.NewConfig().WithRoots(roots))
	var granted host.Grants
	for _, text := range grants {
		capability, scope, _ := strings.Cut(text, " ")
		if capability == "http" {
			g, err := grant.ParseHTTP(scope)
			require.NoError(t, err)
			granted.HTTP = append(granted.HTTP, g)
			continue
		}
		g, err := grant.ParseTCP(scope)
		require.NoError(t, err)
		granted.TCP = append(granted.TCP, g)
	}
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "net", Grants: granted})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func do(ctx context.Context, p abi.Provider, what string, args ...string) (string, error) {
	list := make([]property.Value, len(args))
	for i, arg := range args {
		list[i] = property.String(arg)
	}
	r, err := p.Invoke(ctx, abi.InvokeRequest{Token: "net:index:do", Args: property.MapOf(map[string]property.Value{
		"what": property.String(what), "args": property.Array(list...),
	})})
	answer, _ := r.Result.Get("answer").AsString()
	return answer, err
}

// pages serve what the actions of the fixture ask for.
func pages(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/slow":
		select {
		case <-time.After(100 * time.Millisecond):
			fmt.Fprint(w, "at last")
		case <-r.Context().Done():
		}
	case "/hang":
		<-r.Context().Done()
	case "/large":
		w.Write(make([]byte, 8<<20))
	case "/moved":
		http.Redirect(w, r, "/here", http.StatusFound)
	case "/who":
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject)
	case "/lines":
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		control.Flush()
		for part := make([]byte, 100); ; {
			n, err := r.Body.Read(part)
			if n > 0 {
				w.Write(part[:n])
				control.Flush()
			}
			if err != nil {
				return
			}
		}
	default:
		w.Header().Set("Trailer", "X-Sum")
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %s %s %s %d %v ", r.Proto, r.Method, r.URL.Path, r.Header.Get("User-Agent"), r.ContentLength, r.TransferEncoding)
		w.Header().Set("X-Sum", strconv.FormatInt(n, 10))
	}
}

func echoServer(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestModule(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(pages))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(pages))
	secure.EnableHTTP2 = true
	secure.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	secure.StartTLS()
	defer secure.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	back := echoServer(t)
	addressOf := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	certificate, key := clientCertificate(t)

	const agent = "Go-http-client/1.1"
	byHost := module(t, roots, "http "+plain.URL, "http "+secure.URL)
	byConnection := module(t, nil, "tcp "+addressOf(plain), "tcp "+addressOf(secure), "tcp "+back)
	for name, c := range map[string]struct {
		with abi.Provider
		do   []string
		want string
	}{
		"a request":                                {byHost, []string{"get", plain.URL + "/a"}, "200 HTTP/1.1 GET /a " + agent + " 0 [] 0"},
		"with TLS of the host":                     {byHost, []string{"get", secure.URL + "/a"}, "200 HTTP/2.0 GET /a " + agent + " 0 [] 0"},
		"with a pool of its own":                   {byHost, []string{"pooled", secure.URL + "/a"}, "200 HTTP/2.0 GET /a " + agent + " 0 [] 0"},
		"with authorities of its own":              {byConnection, []string{"trusting", secure.URL + "/a", authority}, "200 HTTP/2.0 GET /a Go-http-client/2.0 0 [] 0"},
		"with a certificate of its own":            {byConnection, []string{"identified", secure.URL + "/who", authority, certificate, key}, "200 CN=client"},
		"with a way to dial of its own":            {byConnection, []string{"dialled", "http://service/a", addressOf(plain)}, "200 HTTP/1.1 GET /a " + agent + " 0 [] 0"},
		"with a body":                              {byHost, []string{"put", plain.URL, "1000", "known"}, "200 HTTP/1.1 PUT / " + agent + " 1000 [] 1000"},
		"with a large body":                        {byHost, []string{"put", plain.URL, "1000000", "known"}, "200 HTTP/1.1 PUT / " + agent + " 1000000 [] 1000000"},
		"with a body of unknown length":            {byHost, []string{"put", plain.URL, "1000000", "unknown"}, "200 HTTP/1.1 PUT / " + agent + " -1 [chunked] 1000000"},
		"with a large response":                    {byHost, []string{"get", plain.URL + "/large"}, "200 8388608 bytes"},
		"with a body that depends on the response": {byHost, []string{"alternate", plain.URL + "/lines"}, "0,1,2"},
		"that is redirected":                       {byHost, []string{"redirected", plain.URL + "/moved"}, "/here"},
		"20 requests at once":                      {byHost, []string{"many", plain.URL + "/slow", "20"}, "200 at last"},
		"20 requests at once over HTTP/2":          {byHost, []string{"many", secure.URL + "/slow", "20"}, "200 at last"},
		"while others run":                         {byHost, []string{"beside", plain.URL + "/slow"}, "true"},
		"with a timeout":                           {byHost, []string{"timeout", plain.URL + "/hang"}, "true"},
		"with a timeout for the head":              {byHost, []string{"slow head", plain.URL + "/hang"}, `Get "` + plain.URL + `/hang": net/http: timeout awaiting response headers`},
		"that is cancelled":                        {byHost, []string{"cancelled", plain.URL + "/hang"}, "true"},
		"to a server in the module":                {module(t, nil), []string{"inside"}, "200 served /inside"},
		"a connection":                             {byConnection, []string{"echo", back, "ping"}, "ping"},
		"with much to say":                         {byConnection, []string{"flood", back, "8388608"}, "8388608 bytes"},
		"20 connections at once":                   {byConnection, []string{"echoes", back, "ping", "20"}, "ping"},
		"with TLS of the module":                   {byConnection, []string{"tls", addressOf(secure), authority}, "O=Acme Co"},
		"with a deadline":                          {byConnection, []string{"deadline", back}, "exceeded"},
		"with addresses":                           {byConnection, []string{"addresses", back}, "0.0.0.0:0 " + back},
		"to localhost":                             {module(t, nil, "tcp localhost:"+port(back)), []string{"echo", "localhost:" + port(back), "ping"}, "ping"},
		"a lookup of localhost":                    {module(t, nil), []string{"lookup", "localhost"}, "127.0.0.1 ::1"},
		"a lookup of an address":                   {module(t, nil), []string{"lookup", "192.0.2.1"}, "192.0.2.1"},
		"of other records": {module(t, nil), []string{"records", "example.org"}, "lookup example.org: a module can look up addresses only; " +
			"lookup example.org: a module can look up addresses only; lookup 192.0.2.1: a module can look up addresses only"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := do(t.Context(), c.with, c.do[0], c.do[1:]...)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// clientCertificate returns a certificate of its own and its key.
func clientCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	der2, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der2}))
}

// What is not granted is refused with the line to add.
func TestRefusals(t *testing.T) {
	p := module(t, nil, "tcp db.example.org:1", "http https://api.example.org")
	for name, c := range map[string]struct {
		do   []string
		want string
	}{
		"a request":                  {[]string{"get", "https://example.org/a"}, "add to the provider's grants: http https://example.org"},
		"a name":                     {[]string{"dial", "tcp", "other.example.org:5432"}, "add to the provider's grants: tcp other.example.org:5432"},
		"a lookup":                   {[]string{"lookup", "other.example.org"}, "add to the provider's grants: tcp other.example.org:<port>"},
		"an address":                 {[]string{"dial", "tcp", "192.0.2.1:5432"}, "add to the provider's grants: tcp 192.0.2.1:5432"},
		"an address of this machine": {[]string{"dial", "tcp", "127.0.0.2:5432"}, "add to the provider's grants: tcp 127.0.0.2:5432"},
		"this machine":               {[]string{"dial", "tcp", "localhost:5432"}, "add to the provider's grants: tcp localhost:5432"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := do(t.Context(), p, c.do[0], c.do[1:]...)
			require.ErrorIs(t, err, abi.ErrDenied)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := do(t.Context(), p, "dial", "tcp", "a b:1")
	require.ErrorContains(t, err, "lookup a b: no such host")
}

func TestFailures(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := gone.Addr().String()
	require.NoError(t, gone.Close())
	server := httptest.NewServer(http.HandlerFunc(pages))
	defer server.Close()
	p := module(t, nil, "tcp "+address, "http http://"+address, "http "+server.URL)
	_, err = do(t.Context(), p, "dial", "tcp", address)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	_, err = do(t.Context(), p, "get", "http://"+address)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	_, err = do(t.Context(), p, "broken", server.URL)
	require.ErrorContains(t, err, "the disk is gone")
}

// A call that is cancelled ends what its goroutines wait for.
func TestCancelledCalls(t *testing.T) {
	var once sync.Once
	waiting := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(waiting) })
		<-r.Context().Done()
	}))
	defer server.Close()
	back := echoServer(t)
	p := module(t, nil, "tcp "+back, "http "+server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	answer, err := do(ctx, p, "wait", back, server.URL)
	require.NoError(t, err)
	require.Contains(t, answer, "Operation canceled")
	again, err := do(t.Context(), p, "echo", back, "ping")
	require.NoError(t, err)
	require.Equal(t, "ping", again)
}

func BenchmarkModule(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	back := echoServer(b)
	p := module(b, nil, "tcp "+back, "http "+server.URL)
	for name, args := range map[string][]string{
		"request": {"times", server.URL}, "connection": {"connect times", back}, "ping": {"ping times", back},
	} {
		b.Run(name, func(b *testing.B) {
			_, err := do(b.Context(), p, args[0], args[1], strconv.Itoa(b.N))
			require.NoError(b, err)
		})
	}
}

package hostile_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host"
)

// requester is inputs/request.wat, with these grants.
func requester(t *testing.T, config host.Config, grants ...string) *host.Provider {
	t.Helper()
	var parsed []host.HTTPGrant
	for _, text := range grants {
		g, err := grant.ParseHTTP(text)
		require.NoError(t, err)
		parsed = append(parsed, g)
	}
	h := newHost(t, config.WithCancelGrace(time.Millisecond))
	return provide(t, h, assemble(t, "inputs/request.wat"), host.ProviderOptions{Grants: host.Grants{HTTP: parsed}})
}

// get sends a request from inside of a module.
func get(ctx context.Context, p *host.Provider, url string) (string, error) {
	response, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: url})
	return response.Provider, err
}

func TestURLs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus, "inputs", "urls.txt"))
	require.NoError(t, err)
	p := requester(t, host.NewConfig(), "https://api.example.org/v1", "https://*.good.example.org")
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		require.NoError(t, err, line)
		url, err := strconv.Unquote(quoted)
		require.NoError(t, err, line)
		_, err = get(t.Context(), p, url)
		require.Equal(t, strings.TrimSpace(line[len(quoted):]), refusalOf(t, err), line)
	}
}

// refusalOf writes why a request was not sent: that it is denied, or what is wrong with it.
func refusalOf(t *testing.T, err error) string {
	require.Error(t, err)
	if e := abi.AsError(err); e.Kind != abi.ErrorKindDenied {
		return e.Kind.String() + ": " + e.Message
	}
	return "denied"
}

func TestRedirectionsAreAnswers(t *testing.T) {
	var asked atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer inside.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", inside.URL)
			w.WriteHeader(status)
			io.WriteString(w, "elsewhere")
		}))
		answer, err := get(t.Context(), requester(t, host.NewConfig(), server.URL), server.URL)
		server.Close()
		require.NoError(t, err)
		require.Equal(t, "elsewhere", answer)
	}
	require.False(t, asked.Load())
}

func TestProxiesAreNotAsked(t *testing.T) {
	var asked atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "itself") }))
	defer server.Close()
	answer, err := get(t.Context(), requester(t, host.NewConfig(), server.URL), server.URL)
	require.NoError(t, err)
	require.Equal(t, "itself", answer)
	require.False(t, asked.Load())
}

// TestACallEndsWhileItWaits has a module wait for an endpoint that never answers, or that
// answers a byte now and then. The host waits on its behalf, and must not wait longer.
func TestACallEndsWhileItWaits(t *testing.T) {
	var arrived, ended chan struct{} // of the request that is sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		if r.URL.Path == "/drips" {
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
			}
		}
		<-r.Context().Done() // the host has hung up
		close(ended)
	}))
	defer server.Close()
	p := requester(t, host.NewConfig(), server.URL)
	for _, path := range []string{"/silent", "/drips"} {
		arrived, ended = make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-arrived
			cancel(errInTime)
		}()
		_, err := get(ctx, p, server.URL+path)
		require.ErrorIs(t, err, abi.ErrCancelled)
		<-ended
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	name := "127.0.0.1"
	for what, c := range map[string]struct {
		host    string
		expires time.Duration
		known   bool
		want    string
	}{
		"good":        {name, time.Hour, true, ""},
		"self-signed": {name, time.Hour, false, "unknown authority"},
		"expired":     {name, -time.Hour, true, "expired"},
		"wrong name":  {"10.0.0.1", time.Hour, true, "certificate is valid for 10.0.0.1"},
	} {
		t.Run(what, func(t *testing.T) {
			certificate := certificateFor(t, c.host, time.Now().Add(c.expires))
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "checked") }))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			defer server.Close()
			roots := x509.NewCertPool()
			if c.known {
				roots.AddCert(certificate.Leaf)
			}
			answer, err := get(t.Context(), requester(t, host.NewConfig().WithRoots(roots), server.URL), server.URL)
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, "checked", answer)
				return
			}
			require.ErrorIs(t, err, abi.ErrUnavailable)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// certificateFor makes a certificate that is its own authority.
func certificateFor(t *testing.T, host string, expires time.Time) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: expires.Add(-24 * time.Hour), NotAfter: expires,
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

package main_test

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// certificates returns files of a certificate for this machine and its key, and a client that trusts it.
func certificates(t *testing.T) (trusting *http.Client, cert, key string) {
	lent := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(lent.Close)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	private, err := x509.MarshalPKCS8PrivateKey(lent.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lent.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return lent.Client(), cert, key
}

// Whoever operates a server has its metrics and profiles at addresses of their own, its certificate from files, and the addresses of
// clients behind a proxy.
func TestListeners(t *testing.T) {
	trusting, cert, key := certificates(t)
	s := newSite(t)
	s.serving = s.command("", "server", s.place, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--behind-proxy", "127.0.0.1",
		"--metrics", "127.0.0.1:0", "--pprof", "127.0.0.1:0")
	out := s.start(s.serving)
	url := out.wait(t, regexp.MustCompile(`Serving at (https://\S+),`))[1]
	metrics := out.wait(t, regexp.MustCompile(`Metrics at (\S+)`))[1]
	profiles := out.wait(t, regexp.MustCompile(`Profiles at (\S+)`))[1]
	get := func(url, token string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		resp, err := trusting.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.Status + "\n" + string(text)
	}
	require.Contains(t, get(url+"/v1/tokens", s.token("acme", "ann", "read")), "403 Forbidden\n")
	require.Regexp(t, `"token":"ann",.*"from":"192\.0\.2\.1",.*"action":"refused"`, get(url+"/v1/audit", s.token("acme", "root", "admin")))
	require.Contains(t, get(profiles+"/debug/pprof/goroutine?debug=1", ""), "200 OK\ngoroutine profile:")
	require.Contains(t, get(profiles+"/debug/pprof/cmdline", ""), "404 Not Found", "it may have passwords")
	require.Contains(t, get(url+"/debug/pprof/", ""), "404 Not Found")

	require.NoError(t, os.WriteFile(cert, []byte("half of it"), 0o600))
	said := get(metrics+"/metrics", "")
	for _, want := range []string{
		`http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/tokens",http_response_status_code="403"} 1`,
		`db_client_connection_max 1`, `husk_certificate_failed 1`,
	} {
		require.Contains(t, said, "\n"+want+"\n")
	}
	require.Regexp(t, `(?m)^husk_certificate_end_seconds [1-9]\d{8,}$`, said)
	require.Contains(t, get(url+"/livez", ""), "200 OK", "the server keeps its certificate")
}

// What would be less safe than it looks is refused.
func TestListenersThatAreRefused(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ flags, wrong string }{
		{"--listen 0.0.0.0:0", "anybody on the way could read the tokens: add --tls-cert and --tls-key, or listen at 127.0.0.1 behind a proxy that has a certificate; --plain-http is for"},
		{"--listen 0.0.0.0:0 --plain-http --tls-cert a --tls-key b", "--plain-http: the server encrypts"},
		{"--listen 127.0.0.1:0 --behind-proxy lb.example", `--behind-proxy: "lb.example" is neither an address nor a network`},
		{"--listen 127.0.0.1:0 --pprof :6060", "--pprof :6060: profiles show what the server does, without a token: name an address of this machine"},
	} {
		out, err := s.husk("", append([]string{"server", "--dir", filepath.Join(s.dir, "server")}, strings.Fields(c.flags)...)...)
		require.Error(t, err, c.flags)
		require.Contains(t, out, c.wrong)
	}
	s.serve("0.0.0.0:0", "--plain-http")
}

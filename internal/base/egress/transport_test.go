package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is an HTTP proxy that leads all connections to one server, and records what it was asked for.
type proxy struct {
	mu    sync.Mutex
	asked []string
}

func startProxy(t *testing.T, to string) (*proxy, *url.URL) {
	p := &proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		if r.Method != http.MethodConnect {
			fmt.Fprint(w, "by the proxy")
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		in, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); out.Close() }()
		_, _ = io.Copy(in, out)
		in.Close()
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	return p, at
}

func (p *proxy) wasAsked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.asked
	p.asked = nil
	return was
}

// A proxy is asked for nothing that a direct connection would not reach, and only for addresses that were judged.
func TestAProxyIsAskedForJudgedAddresses(t *testing.T) {
	target := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "by the target "+r.Host) }))
	defer target.Close()
	p, at := startProxy(t, target.Listener.Addr().String())
	names := map[string][]netip.Addr{
		"example.com": {netip.MustParseAddr("93.184.216.34")}, "inside.example": {netip.MustParseAddr("10.0.0.1")},
		"both.example":    {netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("169.254.169.254")},
		"nowhere.example": {},
	}
	via := Via{Named: func(host string, port uint16) bool { return host == "registry.inside" && port == 443 }}
	make := func(proxy *url.URL, via Via) *http.Client {
		base := target.Client().Transport.(*http.Transport).Clone()
		base.TLSClientConfig.ServerName = "example.com"
		transport := NewTransport(base, &Dialer{}, http.ProxyURL(proxy), via)
		transport.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			if all, ok := names[host]; ok {
				return all, nil
			}
			return nil, errors.New("no such host")
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	get := func(client *http.Client, url string) (string, error) {
		response, err := client.Get(url)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}

	client := make(at, via)
	text, err := get(client, "https://example.com/")
	require.NoError(t, err)
	require.Equal(t, "by the target example.com", text)
	require.Equal(t, []string{"CONNECT 93.184.216.34:443 "}, p.wasAsked())
	text, err = get(make(at, via), "http://example.com:8080/x")
	require.NoError(t, err)
	require.Contains(t, text, "HTTP request to an HTTPS server")
	require.Equal(t, []string{"CONNECT 93.184.216.34:8080 "}, slices.Compact(p.wasAsked()))

	var refused *AddressError
	for _, url := range []string{
		"https://169.254.169.254/", "http://169.254.169.254/latest", "https://127.0.0.1:1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a9fe:a9fe]/",
		"https://[fe80::1%25eth0]/", "https://0.0.0.0/", "https://inside.example/", "https://both.example/", "http://inside.example:80/",
	} {
		_, err := get(client, url)
		require.ErrorAs(t, err, &refused, url)
		require.Empty(t, p.wasAsked(), url)
	}
	for _, url := range []string{"https://intranet/", "https://2130706433/", "https://0x7f000001/", "https://017700000001/", "https://127.1/", "https://unknown.example./", "https://nowhere.example/"} {
		_, err := get(client, url)
		require.Error(t, err, url)
		require.Empty(t, p.wasAsked(), url)
	}

	// What the operator has named is left to the proxy.
	_, err = get(client, "https://registry.inside/")
	require.NoError(t, err)
	require.Equal(t, []string{"CONNECT registry.inside:443 "}, p.wasAsked())
	_, err = get(client, "https://registry.inside:5000/")
	require.Error(t, err)
	require.Empty(t, p.wasAsked(), "another port of it")

	// A redirect is judged as well.
	names["start.example"] = names["example.com"]
	target.Config.Handler = http.RedirectHandler("https://inside.example/", http.StatusFound)
	_, err = get(make(at, via), "https://start.example/")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []string{"CONNECT 93.184.216.34:443 "}, p.wasAsked())

	// Credentials of the proxy are for the proxy. SOCKS cannot be held to an address.
	withUser := *at
	withUser.User = url.UserPassword("me", "secret")
	_, err = get(make(&withUser, via), "https://example.com/")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []string{"CONNECT 93.184.216.34:443 Basic bWU6c2VjcmV0"}, p.wasAsked())
	socks := *at
	socks.Scheme = "socks5"
	_, err = get(make(&socks, via), "https://example.com/")
	require.ErrorContains(t, err, "one of the kind socks5")
	require.Empty(t, p.wasAsked())

	// For those whom the program's author may lead where names lead, a proxy also resolves.
	lenient := make(at, Via{Unresolved: true})
	text, err = get(lenient, "http://intranet/x")
	require.NoError(t, err)
	require.Equal(t, "by the proxy", text)
	require.Equal(t, []string{"GET http://intranet/x "}, p.wasAsked())
	_, err = get(lenient, "https://inside.example/")
	require.ErrorAs(t, err, &refused)
}

// A proxy that refuses, or says something else, is named in the error.
func TestProxiesThatDoNotConnect(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 403 Forbidden\r\n\r\n": "it answered 403 Forbidden to CONNECT 93.184.216.34:443", "nonsense\r\n\r\n": "malformed",
		"HTTP/1.1 200 OK\r\n\r\nhello": "it sent something before it was asked",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}()
		at := &url.URL{Scheme: "http", Host: listener.Addr().String()}
		transport := NewTransport(&http.Transport{}, &Dialer{}, http.ProxyURL(at), Via{})
		_, err = (&http.Client{Transport: transport}).Get("https://93.184.216.34/")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "the proxy "+at.Host)
		listener.Close()
	}
}

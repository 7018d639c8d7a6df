package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// Transport sends requests, and judges where each leads, with a proxy or without one: a proxy would otherwise connect to
// whatever it is asked for. The final target is resolved here, and the proxy is given the address that was judged.
type Transport struct {
	dialer *Dialer
	proxy  func(*http.Request) (*url.URL, error)
	via    Via
	// direct makes connections itself. tunneled has a proxy connect to a judged address. named leaves the name to the proxy.
	direct, tunneled, named *http.Transport
	lookup                  func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Via says what a proxy may be asked for.
type Via struct {
	// Named reports whether a host and port may be reached wherever they are. The proxy is given the name as it is. Nil
	// stands for none.
	Named func(host string, port uint16) bool
	// Unresolved has the proxy also get names that cannot be resolved here, which only it knows.
	Unresolved bool
}

// NewTransport returns a transport with the settings of another one, but for its proxy and its dialer. proxy is as in
// [http.Transport]; nil for none.
func NewTransport(base *http.Transport, d *Dialer, proxy func(*http.Request) (*url.URL, error), via Via) *Transport {
	t := &Transport{dialer: d, proxy: proxy, via: via, direct: base.Clone(), tunneled: base.Clone(), named: base.Clone()}
	t.direct.Proxy, t.direct.DialContext = nil, d.Dial
	t.tunneled.Proxy, t.tunneled.DialContext = nil, t.tunnel
	t.named.Proxy = func(r *http.Request) (*url.URL, error) { return proxyOf(r.Context()), nil }
	t.named.DialContext = (&net.Dialer{Timeout: connectTime}).DialContext // to the proxy, which the operator has named
	t.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	return t
}

const (
	// connectTime bounds the time that a proxy may take to connect.
	connectTime = 30 * time.Second
	// maxConnectAnswer bounds the answer of a proxy to CONNECT, in bytes.
	maxConnectAnswer = 64 << 10
)

// proxyKey is the key of the proxy in the context of a request.
type proxyKey struct{}

func proxyOf(ctx context.Context) *url.URL {
	proxy, _ := ctx.Value(proxyKey{}).(*url.URL)
	return proxy
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var proxy *url.URL
	if t.proxy != nil {
		var err error
		if proxy, err = t.proxy(r); err != nil {
			return nil, err
		}
	}
	if proxy == nil {
		return t.direct.RoundTrip(r)
	}
	host, port, err := targetOf(r.URL)
	if err != nil {
		return nil, err
	}
	r = r.WithContext(context.WithValue(r.Context(), proxyKey{}, proxy))
	if t.isNamed(host, port) {
		return t.named.RoundTrip(r)
	}
	if _, err := t.judge(r.Context(), host, port); err != nil {
		if _, inside := errors.AsType[*AddressError](err); inside || !t.via.Unresolved {
			return nil, err
		}
		return t.named.RoundTrip(r)
	}
	switch {
	case proxy.Scheme == "http" || proxy.Scheme == "https":
		return t.tunneled.RoundTrip(r)
	case t.via.Unresolved:
		return t.named.RoundTrip(r)
	}
	return nil, fmt.Errorf("the proxy is one of the kind %s, which cannot be held to the address that was checked: use an HTTP proxy, or except %s from it with NO_PROXY", proxy.Scheme, host)
}

// WrapConnections has all connections be wrapped. It is called before the first request.
func (t *Transport) WrapConnections(wrap func(net.Conn) net.Conn) {
	for _, one := range []*http.Transport{t.direct, t.tunneled, t.named} {
		dial := one.DialContext
		one.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	for _, one := range []*http.Transport{t.direct, t.tunneled, t.named} {
		one.CloseIdleConnections()
	}
}

func (t *Transport) isNamed(host string, port uint16) bool {
	return t.via.Named != nil && t.via.Named(host, port)
}

// targetOf returns the host and port of a URL.
func targetOf(u *url.URL) (host string, port uint16, err error) {
	text := u.Port()
	if text == "" {
		text = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || u.Hostname() == "" {
		return "", 0, fmt.Errorf("%s names no host and port", u.Redacted())
	}
	return u.Hostname(), uint16(n), nil
}

// judge returns the addresses of a host, or an error if one of them may not be reached.
func (t *Transport) judge(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	addresses := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, addr)
	} else if addresses, err = t.lookup(ctx, host); err != nil {
		return nil, fmt.Errorf("%s has to be resolved here, before a proxy is asked for it: %w", host, err)
	}
	for _, addr := range addresses {
		if err := t.dialer.Check(host, addr, port); err != nil {
			return nil, err
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return addresses, nil
}

// tunnel has the proxy of a request connect to an address of its target, which is judged.
func (t *Transport) tunnel(ctx context.Context, _, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	proxy := proxyOf(ctx)
	if proxy == nil {
		return nil, errors.New("the request has no proxy")
	}
	addresses, err := t.judge(ctx, host, uint16(port))
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, addr := range addresses {
		conn, err := connect(ctx, proxy, netip.AddrPortFrom(addr.Unmap().WithZone(""), uint16(port)))
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// connect has a proxy connect to an address (RFC 9110, 9.3.6).
func connect(ctx context.Context, proxy *url.URL, to netip.AddrPort) (_ net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	at := proxy.Host
	if proxy.Port() == "" {
		at = net.JoinHostPort(proxy.Hostname(), map[string]string{"http": "80", "https": "443"}[proxy.Scheme])
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", proxy.Host, err)
	}
	raw := conn
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			raw.Close()
			err = fmt.Errorf("the proxy %s: %w", proxy.Host, err)
		}
	}()
	if proxy.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secure
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to.String()}, Host: to.String(), Header: make(http.Header)}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
		request.Header["Proxy-Authorization"] = request.Header["Authorization"]
		delete(request.Header, "Authorization")
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxConnectAnswer))
	response, err := http.ReadResponse(in, request)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s to CONNECT %s", response.Status, to)
	case in.Buffered() > 0:
		return nil, errors.New("it sent something before it was asked")
	}
	return conn, nil
}

package host

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/egress"
	"github.com/husk-dev/husk/internal/printable"
)

// httpClient sends the requests of one provider, as far as its grants go.
type httpClient struct {
	grants []HTTPGrant
	roots  *x509.CertPool
	dialer egress.Dialer
	how    howToGrant

	mu sync.Mutex
	// transports are by the addresses inside that their connections may have, see transport.
	transports map[string]*http.Transport
}

// newHTTPClient makes a client. It knows no proxy, keeps no cookies, and follows no
// redirect. roots are the certificates to trust, nil for the system's.
func newHTTPClient(grants []HTTPGrant, roots *x509.CertPool) *httpClient {
	c := &httpClient{grants: grants, roots: roots, transports: make(map[string]*http.Transport)}
	c.dialer.Timeout = dialTimeout
	return c
}

// transport returns what sends a request, for which a name may lead to these addresses inside.
// A connection serves further requests to the same name, and where it leads was checked for the
// first one alone. So requests that may be led to other addresses have other connections.
func (c *httpClient) transport(inside []netip.Addr) *http.Transport {
	key := fmt.Sprint(inside)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t
	}
	d := c.dialer
	d.Allow = func(host string, addr netip.Addr, _ uint16) bool {
		return host == addr.String() || isLocalhost(host, addr) || slices.Contains(inside, addr)
	}
	t := &http.Transport{
		DialContext:            d.Dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.roots},
		TLSHandshakeTimeout:    httpTLSTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: http2Window},
		MaxIdleConns:           httpIdleConns,
		IdleConnTimeout:        httpIdleTimeout,
		MaxResponseHeaderBytes: MaxHTTPHeaderBytes,
	}
	c.transports[key] = t
	return t
}

func (c *httpClient) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// admit returns the grant that allows the request, and of several the first that has
// headers to add. It is an error if there is none.
func (c *httpClient) admit(a *httpAsk) (*HTTPGrant, error) {
	var by *HTTPGrant
	var others []string
	for i := range c.grants {
		g := &c.grants[i]
		switch {
		case !g.covers(a, a.host):
		case !g.allows(a.methods):
			others = append(others, g.Methods...)
		case by == nil || len(by.headers) == 0:
			by = g
		}
	}
	if by != nil {
		return by, nil
	}
	return nil, c.denied(a, others)
}

// denied is the refusal of a request. others are the methods that are granted there.
func (c *httpClient) denied(a *httpAsk, others []string) error {
	t := a.httpTarget
	r := Refusal{Capability: "http", Scope: origin(t.url.Scheme, t.host, t.port)}
	var granted []string
	for _, g := range c.grants {
		granted = append(granted, g.String())
	}
	reason := "nothing under its grants: http allows it"
	switch {
	case len(others) > 0:
		reason = "its grants: http allow only " + strings.Join(others, ", ") + " there"
		asked := a.methods[len(a.methods)-1]
		if i := slices.IndexFunc(a.methods, func(m string) bool { return !slices.Contains(others, m) }); i >= 0 {
			asked = a.methods[i]
		}
		if asked != a.methods[0] {
			reason += ", and the request asks for " + asked + " by " + a.override
		}
		r.Methods = append(others, asked)
	case a.elsewhere != "":
		reason = "its header " + a.elsewhere + " names another path, which a grant of a path cannot allow: leave it out"
	case granted != nil:
		reason = "its grants: http are " + strings.Join(granted, ", ")
	}
	return c.how.denied(fmt.Sprintf("the provider may not send %s %s: %s", a.methods[0], t, reason), r)
}

// inside returns the addresses inside that the request's name may lead to: those whose own
// grants allow the request, with its path and methods.
func (c *httpClient) inside(a *httpAsk) (addresses []netip.Addr) {
	if _, err := netip.ParseAddr(a.host); err == nil {
		return nil // it leads to itself
	}
	for _, g := range c.grants {
		addr, err := netip.ParseAddr(g.Host)
		if err == nil && g.covers(a, g.Host) && g.allows(a.methods) && !slices.Contains(addresses, addr) {
			addresses = append(addresses, addr)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses
}

// isLocalhost reports whether a name that was granted as localhost leads to this machine.
func isLocalhost(host string, addr netip.Addr) bool {
	return host == localhost && addr.IsLoopback()
}

const localhost = "localhost"

// String is the URL without its query, which may hold secrets.
func (t *httpTarget) String() string {
	return origin(t.url.Scheme, t.host, t.port) + t.url.EscapedPath()
}

// failed makes the error that a guest gets of one of the network's.
func (x *httpExchange) failed(err error) error {
	what := x.what() + ": "
	var timeout net.Error
	if refused, ok := errors.AsType[*egress.AddressError](err); ok {
		return x.client.how.denied(what+refused.Error(), Refusal{Capability: "http", Scope: origin(x.target.url.Scheme, refused.Addr.String(), x.target.port)})
	}
	if known, ok := errors.AsType[*abi.Error](err); ok {
		return known
	}
	switch {
	case x.call.Err() != nil:
		return hostError(abi.ErrorKindCancelled, what+"the call was cancelled")
	case x.ctx.Err() != nil:
		return remoteError(what + "it took longer than " + x.timeout.String())
	case errors.As(err, &timeout) && timeout.Timeout():
		return remoteError(what + "no answer in time: " + err.Error())
	}
	return remoteError(what + err.Error())
}

func remoteError(message string) error {
	return &abi.Error{Kind: abi.ErrorKindUnavailable, Origin: abi.ErrorOriginRemote, Message: printable.Text(message)}
}

package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"

	"github.com/husk-dev/husk/abi"
)

// httpClient sends the requests of one provider, as far as its grants go.
type httpClient struct {
	grants    []HTTPGrant
	transport *http.Transport
	dialer    net.Dialer
}

// newHTTPClient makes a client. It knows no proxy, keeps no cookies, and follows no
// redirect. roots are the certificates to trust, nil for the system's.
func newHTTPClient(grants []HTTPGrant, roots *x509.CertPool) *httpClient {
	c := &httpClient{grants: grants, dialer: net.Dialer{Timeout: httpDialTimeout}}
	c.transport = &http.Transport{
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    httpTLSTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           httpIdleConns,
		IdleConnTimeout:        httpIdleTimeout,
		MaxResponseHeaderBytes: MaxHTTPHeaderBytes,
	}
	return c
}

// dial checks each address that a name leads to at the moment it is connected to, so
// that no answer of a name server can come in between.
func (c *httpClient) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := c.dialer
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return c.checkAddress(name, at.Addr(), at.Port())
	}
	return d.DialContext(ctx, network, address)
}

func (c *httpClient) close() { c.transport.CloseIdleConnections() }

// admit is an error if no grant allows the request.
func (c *httpClient) admit(method string, t *httpTarget) error {
	var others []string
	for _, g := range c.grants {
		switch {
		case !g.covers(t):
		case g.allows(method):
			return nil
		default:
			others = append(others, g.Methods...)
		}
	}
	reason := "nothing under its grants: http allows it"
	if len(others) > 0 {
		reason = "its grants: http allow only " + strings.Join(others, ", ") + " there"
	} else if len(c.grants) > 0 {
		var granted []string
		for _, g := range c.grants {
			granted = append(granted, g.String())
		}
		reason = "its grants: http are " + strings.Join(granted, ", ")
	}
	line := origin(t.url.Scheme, t.host, t.port)
	if len(others) > 0 {
		line = fmt.Sprintf("{url: %q, methods: [%s]}", line, strings.Join(append(others, method), ", "))
	}
	return denied(fmt.Sprintf("the provider may not send %s %s: %s", method, t, reason), line)
}

// String is the URL without its query, which may hold secrets.
func (t *httpTarget) String() string {
	return origin(t.url.Scheme, t.host, t.port) + t.url.EscapedPath()
}

// denied is a refusal, and the line by which an operator would change it.
func denied(message, line string) error {
	return hostError(abi.ErrorKindDenied, message+
		"\nto grant it, add to this provider's entry under plugins.providers in the project file:\n"+
		"  grants:\n    http:\n      - "+line)
}

// failed makes the error that a guest gets of one of the network's.
func (x *httpExchange) failed(err error) error {
	what := x.request.Method + " " + x.target.String() + ": "
	var timeout net.Error
	if refused, ok := errors.AsType[*addressError](err); ok {
		return denied(what+refused.Error(), origin(x.target.url.Scheme, refused.addr.String(), x.target.port))
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
	return &abi.Error{Kind: abi.ErrorKindUnavailable, Origin: abi.ErrorOriginRemote, Message: printable(message)}
}

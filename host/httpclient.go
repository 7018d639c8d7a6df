package host

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// httpClient sends the requests of one provider, as far as its grants go.
type httpClient struct {
	grants []HTTPGrant
	// transport is nil without a grant, as no request is sent then.
	transport *http.Transport
	dialer    outward
	how       howToGrant
}

// newHTTPClient makes a client. It knows no proxy, keeps no cookies, and follows no
// redirect. roots are the certificates to trust, nil for the system's.
func newHTTPClient(grants []HTTPGrant, roots *x509.CertPool) *httpClient {
	c := &httpClient{grants: grants}
	if len(grants) == 0 {
		return c
	}
	c.dialer.Timeout = dialTimeout
	for _, g := range grants {
		c.dialer.granted = append(c.dialer.granted, endpoint{g.Host, g.Port})
	}
	c.transport = &http.Transport{
		DialContext:            c.dialer.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    httpTLSTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           httpIdleConns,
		IdleConnTimeout:        httpIdleTimeout,
		MaxResponseHeaderBytes: MaxHTTPHeaderBytes,
	}
	return c
}

func (c *httpClient) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// admit returns the grant that allows the request, and of several the first that has
// headers to add. It is an error if there is none.
func (c *httpClient) admit(method string, t *httpTarget) (*HTTPGrant, error) {
	var by *HTTPGrant
	var others []string
	for i := range c.grants {
		g := &c.grants[i]
		switch {
		case !g.covers(t):
		case !g.allows(method):
			others = append(others, g.Methods...)
		case by == nil || len(by.headers) == 0:
			by = g
		}
	}
	if by != nil {
		return by, nil
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
	r := Refusal{Capability: "http", Scope: origin(t.url.Scheme, t.host, t.port)}
	if len(others) > 0 {
		r.Methods = append(others, method)
	}
	return nil, c.how.denied(fmt.Sprintf("the provider may not send %s %s: %s", method, t, reason), r)
}

// String is the URL without its query, which may hold secrets.
func (t *httpTarget) String() string {
	return origin(t.url.Scheme, t.host, t.port) + t.url.EscapedPath()
}

// failed makes the error that a guest gets of one of the network's.
func (x *httpExchange) failed(err error) error {
	what := x.request.Method + " " + x.target.String() + ": "
	var timeout net.Error
	if refused, ok := errors.AsType[*addressError](err); ok {
		return x.client.how.denied(what+refused.Error(), Refusal{Capability: "http", Scope: origin(x.target.url.Scheme, refused.addr.String(), x.target.port)})
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

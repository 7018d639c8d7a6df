package capability

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
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/egress"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/httprequest"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// HTTPClient sends the requests of one provider, as far as its grants go.
type HTTPClient struct {
	grants []grant.HTTP
	roots  *x509.CertPool
	dialer egress.Dialer
	advice Advice

	mu sync.Mutex
	// transports are by the addresses inside that their connections may have, see transport.
	transports map[string]*http.Transport
}

// NewHTTPClient makes a client. The client knows no proxy, keeps no cookies, and follows no
// redirect. roots are the certificates to trust, nil for the system's.
func NewHTTPClient(grants []grant.HTTP, roots *x509.CertPool, advice Advice) *HTTPClient {
	c := &HTTPClient{grants: grants, roots: roots, advice: advice, transports: make(map[string]*http.Transport)}
	c.dialer.Timeout = dialTimeout
	return c
}

// Names reports whether a request to a host may be granted.
func (c *HTTPClient) Names(host string) bool {
	return slices.ContainsFunc(c.grants, func(g grant.HTTP) bool { return hostname.Matches(g.Host, host) })
}

// transport returns the transport of a request whose host name may lead to these inside addresses. A connection serves further
// requests to the same name, and where it leads was checked for the first one alone. So requests that may be led to other
// addresses have other connections.
func (c *HTTPClient) transport(inside []netip.Addr) *http.Transport {
	key := fmt.Sprint(inside)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t
	}
	d := c.dialer
	d.Allow = func(host string, addr netip.Addr, _ uint16) bool {
		return host == addr.String() || hostname.IsLocalhost(host, addr) || slices.Contains(inside, addr)
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

// Close closes the connections that no request uses.
func (c *HTTPClient) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// admit returns the grant that allows the request, and of several the first that has
// headers to add. It is an error if there is none.
func (c *HTTPClient) admit(req *httprequest.Request) (*grant.HTTP, error) {
	var by *grant.HTTP
	var others []*grant.HTTP
	for i := range c.grants {
		g := &c.grants[i]
		switch {
		case !g.Covers(req, req.Host):
		case !g.Allows(req.Methods):
			others = append(others, g)
		case by == nil || len(by.Headers()) == 0:
			by = g
		}
	}
	if by != nil {
		return by, nil
	}
	return nil, c.denied(req, others)
}

// grantedFormerly returns advice for a host that a grant covered in earlier versions, where *. stood for all names below a host.
// It is empty for other hosts.
func grantedFormerly(granted, host string) string {
	if hostname.Matches(granted, host) || !hostname.MatchedFormerly(granted, host) {
		return ""
	}
	return fmt.Sprintf(" (%s is for names of one label more now, and *%[1]s for all below)", granted)
}

// denied is the refusal of a request. others are the grants that allow other methods there.
func (c *HTTPClient) denied(req *httprequest.Request, others []*grant.HTTP) error {
	t := req.Target
	r := grant.Text{Capability: grant.NameHTTP, Scope: t.Origin()}
	var granted []string
	for _, g := range c.grants {
		granted = append(granted, g.String())
	}
	reason := "nothing under its grants: http allows it"
	switch {
	case len(others) > 0:
		var methods []string
		for _, g := range others {
			methods = append(methods, g.Methods...)
		}
		reason = "its grants: http allow only " + strings.Join(methods, ", ") + " there"
		asked := req.Methods[len(req.Methods)-1]
		if i := slices.IndexFunc(req.Methods, func(m string) bool { return !slices.Contains(methods, m) }); i >= 0 {
			asked = req.Methods[i]
		}
		if asked != req.Methods[0] {
			reason += ", and the request asks for " + asked + " by " + req.Override
		}
		r.Scope, r.Methods = others[0].String(), append(methods, asked)
	case req.Elsewhere != "":
		reason = "its header " + req.Elsewhere + " names another path, which a grant of a path cannot allow: leave it out"
	case granted != nil:
		reason = "its grants: http are " + strings.Join(granted, ", ")
	}
	for _, g := range c.grants {
		reason += grantedFormerly(g.Host, req.Host)
	}
	return c.advice.Denied(fmt.Sprintf("the provider may not send %s %s: %s", req.Methods[0], t, reason), r)
}

// inside returns the addresses inside that the request's name may lead to: those whose own
// grants allow the request, with its path and methods.
func (c *HTTPClient) inside(req *httprequest.Request) (addresses []netip.Addr) {
	if _, err := netip.ParseAddr(req.Host); err == nil {
		return nil // it leads to itself
	}
	for _, g := range c.grants {
		addr, err := netip.ParseAddr(g.Host)
		if err == nil && g.Covers(req, g.Host) && g.Allows(req.Methods) && !slices.Contains(addresses, addr) {
			addresses = append(addresses, addr)
		}
	}
	sorted.By(addresses, netip.Addr.Compare)
	return addresses
}

// failed makes the error that a guest gets of one of the network's.
func (x *httpExchange) failed(err error) error {
	what := x.what() + ": "
	var timeout net.Error
	if refused, ok := errors.AsType[*egress.AddressError](err); ok {
		return x.client.advice.Denied(what+refused.Error(), grant.Text{Capability: grant.NameHTTP, Scope: httprequest.Origin(x.target.URL.Scheme, refused.Addr.String(), x.target.Port)})
	}
	if known, ok := errors.AsType[*abi.Error](err); ok {
		return known
	}
	switch {
	case x.call.Err() != nil:
		return Failure(abi.ErrorKindCancelled, what+"the call was cancelled")
	case x.ctx.Err() != nil:
		return remoteFailure(what + "it took longer than " + x.timeout.String())
	case errors.As(err, &timeout) && timeout.Timeout():
		return remoteFailure(what + "no answer in time: " + err.Error())
	}
	return remoteFailure(what + err.Error())
}

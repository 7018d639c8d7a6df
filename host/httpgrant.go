package host

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// HTTPGrant lets a provider send requests to one service.
type HTTPGrant struct {
	// Scheme is http or https.
	Scheme string
	// Host is a name in lower case, or an IP address. *.example.org stands for every
	// name that ends with .example.org; example.org is not among them.
	Host string
	Port uint16
	// Path is what the path of a request begins with, in whole segments and without a
	// slash at the end: /v1 grants /v1 and /v1/pets, but not /v10. Empty grants all paths.
	Path string
	// Methods are the granted methods, in upper case; none grants all methods.
	Methods []string

	headers []grantHeader
}

// grantHeader is a header that the host adds to what a grant allows.
type grantHeader struct{ name, value string }

// WithHeader binds a header to the grant, most often credentials: the host sets it on
// each request that the grant allows, in place of one that the guest has set, so that
// the guest need not know the value and never gets it. The value goes over TLS only, or
// to this machine.
func (g HTTPGrant) WithHeader(name, value string) (HTTPGrant, error) {
	name = http.CanonicalHeaderKey(name)
	folded := foldHeader(name)
	addr, _ := netip.ParseAddr(g.Host)
	switch {
	case !isToken(name):
		return g, fmt.Errorf("%q is not the name of a header", name)
	case isConnectionHeader(folded) || isHostHeader(folded):
		return g, fmt.Errorf("the header %s is of the connection, which is the host's matter", name)
	case hasControl(value):
		return g, fmt.Errorf("the value of the header %s has a control character in it", name)
	case g.Scheme != "https" && g.Host != localhost && !addr.IsLoopback():
		return g, fmt.Errorf("the header %s would go to %s without encryption: grant the https:// URL", name, origin(g.Scheme, g.Host, g.Port))
	}
	g.headers = append(slices.Clip(g.headers), grantHeader{name, value})
	return g, nil
}

// ParseHTTPGrant reads a grant as a project file has it: a URL such as
// https://api.example.org/v1 or https://*.example.org, and the granted methods, if not
// all are.
func ParseHTTPGrant(text string, methods ...string) (HTTPGrant, error) {
	const form = "a grant is a URL such as https://api.example.org/v1"
	rest, wildcard := text, false
	if scheme, host, ok := strings.Cut(text, "://*."); ok {
		rest, wildcard = scheme+"://"+host, true
	}
	target, err := parseHTTPTarget(rest)
	if err != nil {
		return HTTPGrant{}, fmt.Errorf("%s: %w", form, err)
	}
	_, err = netip.ParseAddr(target.host)
	switch {
	case wildcard && err == nil:
		return HTTPGrant{}, errors.New("a * stands for names, not for addresses")
	case target.url.RawQuery != "" || target.url.ForceQuery:
		return HTTPGrant{}, errors.New(form + ", without a query: what is granted is a path with all that is below it")
	}
	g := HTTPGrant{Scheme: target.url.Scheme, Host: target.host, Port: target.port}
	if wildcard {
		g.Host = "*." + g.Host
	}
	if path := strings.TrimRight(target.url.EscapedPath(), "/"); path != "" {
		if _, err := pathSegments(path); err != nil {
			return HTTPGrant{}, fmt.Errorf("%s: %w", form, err)
		}
		g.Path = path
	}
	for _, method := range methods {
		if !isToken(method) || method != strings.ToUpper(method) {
			return HTTPGrant{}, fmt.Errorf("%q is not a method such as GET or POST", method)
		}
		g.Methods = append(g.Methods, method)
	}
	return g, nil
}

// String is the grant's URL.
func (g HTTPGrant) String() string { return origin(g.Scheme, g.Host, g.Port) + g.Path }

// covers reports whether the grant is of the service and path of a request. host is the
// request's own, or an address that its name may lead to.
func (g HTTPGrant) covers(a *httpAsk, host string) bool {
	if g.Scheme != a.url.Scheme || g.Port != a.port || !matchesHost(g.Host, host) {
		return false
	}
	if g.Path == "" {
		return true
	}
	granted, err := pathSegments(g.Path)
	if err != nil || a.elsewhere != "" {
		return false
	}
	return a.pathError == nil && len(a.path) >= len(granted) && slices.Equal(a.path[:len(granted)], granted)
}

// allows reports whether all of the methods are granted.
func (g HTTPGrant) allows(methods []string) bool {
	return len(g.Methods) == 0 || !slices.ContainsFunc(methods, func(m string) bool { return !slices.Contains(g.Methods, m) })
}

// httpTarget is where a request goes.
type httpTarget struct {
	// url has the host and port that were checked.
	url  *url.URL
	host string
	port uint16
}

// parseHTTPTarget reads an absolute URL. The names of hosts are compared as text, so
// that each must have one form only.
func parseHTTPTarget(text string) (*httpTarget, error) {
	if len(text) > MaxHTTPURL {
		return nil, fmt.Errorf("the URL has %d bytes, at most %d are possible", len(text), MaxHTTPURL)
	}
	u, err := url.Parse(text)
	if failure, ok := errors.AsType[*url.Error](err); ok {
		return nil, failure.Err // the URL may hold a secret
	}
	if err != nil {
		return nil, err
	}
	t := &httpTarget{url: u}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL does not begin with https:// or http://")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	case u.User != nil:
		return nil, errors.New("the URL has a user in it; credentials belong into the Authorization header")
	}
	if t.host, err = canonicalHost(u.Hostname()); err != nil {
		return nil, err
	}
	t.port = 80
	if u.Scheme == "https" {
		t.port = 443
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return nil, fmt.Errorf("%s is not a port", text)
		}
		t.port = uint16(port)
	}
	u.Host = strings.TrimPrefix(origin(u.Scheme, t.host, t.port), u.Scheme+"://")
	u.Fragment, u.RawFragment = "", ""
	return t, nil
}

// canonicalHost is a host in the one form in which hosts are compared.
func canonicalHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", errors.New("an address with a zone cannot be granted")
		}
		return addr.Unmap().String(), nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			return "", fmt.Errorf("%q is not the name of a host (in ASCII: a name of other letters begins with xn--)", host)
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return "", fmt.Errorf("%q is neither a name nor an address: an address of IPv4 is four numbers from 0 to 255, without zeros before them", host)
	}
	return host, nil
}

// isNumber reports whether the last label of a host makes some programs take it for an address,
// such as 127.1 and 0x7f000001. No name of the Internet ends so.
func isNumber(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// origin is a scheme, host, and port as a URL has them.
func origin(scheme, host string, port uint16) string {
	text := net.JoinHostPort(host, strconv.Itoa(int(port)))
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		text = text[:strings.LastIndexByte(text, ':')]
	}
	return scheme + "://" + text
}

// isToken reports whether text can be a method or the name of a header (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// isConnectionHeader reports whether a header, folded, says how requests follow one another on a
// connection, which only the host knows.
func isConnectionHeader(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Http2-Settings", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

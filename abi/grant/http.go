package grant

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/httprequest"
)

var httpCapability = Capability{
	Name: NameHTTP, Flags: []string{"http=URL"}, Placeholder: "<URL>",
	Entry: Entry{
		Noun: "a service that may be used over HTTP", Key: "url", KeyNoun: "the URL", Missing: "a service that may be used over HTTP has no url",
		Options: []string{OptionMethods, OptionHeaders},
	},
	fulfils: func(s Set, scope string) bool {
		wanted, err := ParseHTTP(scope)
		return slices.ContainsFunc(s.HTTP, func(g HTTP) bool { return scope == "" || err == nil && g.holds(wanted) })
	},
	add: func(s *Set, t Text, p Place) error {
		scope, anyHost := t.Scope, false
		if scheme, ok := strings.CutSuffix(scope, "://"+hostname.Any); ok && p.AnyHost {
			scope, anyHost = scheme+"://"+anyName, true
		}
		g, err := ParseHTTP(scope, t.Methods...)
		if anyHost {
			g.Host = hostname.Any
		}
		s.HTTP = append(s.HTTP, g)
		return err
	},
}

// anyName stands for all names while a grant is read.
const anyName = "any.invalid"

// HTTP lets a provider send requests to one service.
type HTTP struct {
	// Scheme is http or https.
	Scheme string
	// Host is a name in lower case, or an IP address. *.example.org stands for every
	// name of one label before .example.org, and **.example.org for every name that ends
	// with .example.org; example.org is not among them.
	Host string
	Port uint16
	// Path is the prefix of a request's path, in whole segments and without a slash at the end: /v1 grants /v1 and /v1/pets, but
	// not /v10. Empty grants all paths.
	Path string
	// Methods are the granted methods, in upper case; none grants all methods.
	Methods []string

	headers []Header
}

// Header is a header that the host adds to requests that a grant allows.
type Header struct{ Name, Value string }

// Headers returns the headers that are bound to the grant.
func (g HTTP) Headers() []Header { return g.headers }

// WithHeader binds a header to the grant, most often credentials: the host sets it on
// each request that the grant allows, in place of one that the guest has set, so that
// the guest need not know the value and never gets it. The value goes over TLS only, or
// to this machine.
func (g HTTP) WithHeader(name, value string) (HTTP, error) {
	name = http.CanonicalHeaderKey(name)
	folded := httprequest.FoldHeader(name)
	addr, _ := netip.ParseAddr(g.Host)
	switch {
	case !httprequest.IsToken(name):
		return g, fmt.Errorf("%q is not the name of a header", name)
	case httprequest.IsConnectionHeader(folded) || httprequest.IsHostHeader(folded):
		return g, fmt.Errorf("the header %s is of the connection, which is the host's matter", name)
	case httprequest.HasControl(value):
		return g, fmt.Errorf("the value of the header %s has a control character in it", name)
	case g.Scheme != "https" && g.Host != hostname.Localhost && !addr.IsLoopback():
		return g, fmt.Errorf("the header %s would go to %s without encryption: grant the https:// URL", name, httprequest.Origin(g.Scheme, g.Host, g.Port))
	}
	g.headers = append(slices.Clip(g.headers), Header{name, value})
	return g, nil
}

// ParseHTTP reads a grant of a project file: a URL such as
// https://api.example.org/v1 or https://*.example.org, and the granted methods, if not
// all are.
func ParseHTTP(text string, methods ...string) (HTTP, error) {
	const form = "a grant is a URL such as https://api.example.org/v1"
	rest, wildcard := text, ""
	for _, begin := range []string{hostname.Any + ".", hostname.Below} {
		if scheme, host, ok := strings.Cut(text, "://"+begin); ok {
			rest, wildcard = scheme+"://"+host, begin
		}
	}
	target, err := httprequest.ParseTarget(rest)
	if err != nil {
		return HTTP{}, fmt.Errorf("%s: %w", form, err)
	}
	_, err = netip.ParseAddr(target.Host)
	switch {
	case wildcard != "" && err == nil:
		return HTTP{}, errors.New("a * stands for names, not for addresses")
	case target.URL.RawQuery != "" || target.URL.ForceQuery:
		return HTTP{}, errors.New(form + ", without a query: a grant covers a path and everything below it")
	}
	g := HTTP{Scheme: target.URL.Scheme, Host: target.Host, Port: target.Port}
	g.Host = wildcard + g.Host
	if path := strings.TrimRight(target.URL.EscapedPath(), "/"); path != "" {
		if _, err := httprequest.Segments(path); err != nil {
			return HTTP{}, fmt.Errorf("%s: %w", form, err)
		}
		g.Path = path
	}
	for _, method := range methods {
		if !httprequest.IsToken(method) || method != strings.ToUpper(method) {
			return HTTP{}, fmt.Errorf("%q is not a method such as GET or POST", method)
		}
		g.Methods = append(g.Methods, method)
	}
	return g, nil
}

// String returns the grant's URL.
func (g HTTP) String() string { return httprequest.Origin(g.Scheme, g.Host, g.Port) + g.Path }

// Covers reports whether the grant covers the service and path of a request. host is the request's own, or an address that its
// name may lead to.
func (g HTTP) Covers(r *httprequest.Request, host string) bool {
	if g.Scheme != r.URL.Scheme || g.Port != r.Port || !hostname.Matches(g.Host, host) {
		return false
	}
	if g.Path == "" {
		return true
	}
	granted, err := httprequest.Segments(g.Path)
	if err != nil || r.Elsewhere != "" {
		return false
	}
	return r.PathError == nil && len(r.Path) >= len(granted) && slices.Equal(r.Path[:len(granted)], granted)
}

// Allows reports whether all of the methods are granted.
func (g HTTP) Allows(methods []string) bool {
	return len(g.Methods) == 0 || !slices.ContainsFunc(methods, func(m string) bool { return !slices.Contains(g.Methods, m) })
}

// holds reports whether all that another grant allows is allowed, with some
// methods at least.
func (g HTTP) holds(other HTTP) bool {
	if g.Scheme != other.Scheme || g.Port != other.Port || g.Host != other.Host && !hostname.Matches(g.Host, other.Host) {
		return false
	}
	return g.Path == "" || g.Path == other.Path || strings.HasPrefix(other.Path, g.Path+"/")
}

package host

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// httpAsk is what a request asks for, as far as a grant decides about it. A service may let
// a header or the query say what the method, the path, or the host really is. Then the grant has
// to allow that, too.
type httpAsk struct {
	*httpTarget
	// methods are the request's own, and those that it asks for in its place, by override.
	methods  []string
	override string
	// elsewhere is the header that names another path; empty for none.
	elsewhere string
}

func newHTTPAsk(r abi.HTTPRequest, target *httpTarget) *httpAsk {
	a := &httpAsk{httpTarget: target, methods: []string{r.Method}}
	for _, h := range r.Headers {
		switch name := foldHeader(h.Name); {
		case methodHeaders[name]:
			a.overrides(h.Name, string(h.Value))
		case isPathHeader(name) && a.elsewhere == "":
			a.elsewhere = h.Name
		}
	}
	for part := range strings.FieldsFuncSeq(target.url.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(key); err == nil && methodParameters[strings.ToLower(key)] {
			if text, err := url.QueryUnescape(value); err == nil {
				value = text
			}
			a.overrides(key+" in the query", value)
		}
	}
	return a
}

func (a *httpAsk) overrides(by, method string) {
	a.methods, a.override = append(a.methods, strings.ToUpper(strings.TrimSpace(method))), by
}

// foldHeader is a header's name as gateways pass it on to programs (RFC 3875, 4.1.18): they
// know neither case nor the difference between - and _.
func foldHeader(name string) string {
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// isPathHeader reports whether a header names another path than the request has: the true one, or a
// second one, such as where a copy comes from or goes to.
func isPathHeader(name string) bool {
	return pathHeaders[name] || strings.HasSuffix(name, "-Copy-Source") || strings.HasSuffix(name, "-Rename-Source")
}

// The headers and parameters by which services take another method, path, or host than the
// request has.
var (
	methodHeaders    = map[string]bool{"X-Http-Method-Override": true, "X-Http-Method": true, "X-Method-Override": true}
	methodParameters = map[string]bool{"_method": true, "x-http-method-override": true, "x-http-method": true, "x-method-override": true}
	pathHeaders      = map[string]bool{
		"X-Original-Url": true, "X-Rewrite-Url": true, "X-Original-Uri": true, "X-Forwarded-Uri": true, "X-Forwarded-Path": true,
		"X-Forwarded-Prefix": true, "X-Envoy-Original-Path": true, "X-Replaced-Path": true, "X-Request-Uri": true,
		"Destination": true, // of WebDAV
	}
	hostHeaders = map[string]bool{
		"Host": true, "X-Forwarded-Host": true, "X-Forwarded-Server": true, "X-Original-Host": true, "X-Host": true, "X-Http-Host-Override": true,
	}
)

package host

import (
	"net/http"
	"net/url"
	"slices"
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
	// path has the segments of the path, if all services read it alike.
	path      []string
	pathError error
	// elsewhere is the header that names another path; empty for none.
	elsewhere string
}

func newHTTPAsk(r abi.HTTPRequest, target *httpTarget) *httpAsk {
	a := &httpAsk{httpTarget: target, methods: []string{r.Method}}
	for _, h := range r.Headers {
		switch name := foldHeader(h.Name); {
		case isAbout(name, "Method", "Verb"):
			a.overrides(h.Name, string(h.Value))
		case isPathHeader(name) && a.elsewhere == "":
			a.elsewhere = h.Name
		}
	}
	a.path, a.pathError = pathSegments(target.url.EscapedPath())
	for part := range strings.FieldsFuncSeq(target.url.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(key); err == nil && isMethodParameter(key) {
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
// know neither case nor the difference between characters that are no letters or digits.
func foldHeader(name string) string {
	return http.CanonicalHeaderKey(strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, name))
}

// isAbout reports whether a header, by its folded name, says for gateways what a part of the request
// really is: X-Original-Url for "Url". Each gateway has a name of its own for that, made of the
// same words. X-Callback-Url is about something else.
func isAbout(name string, parts ...string) bool {
	found := false
	for word := range strings.SplitSeq(name, "-") {
		if slices.Contains(parts, word) {
			found = true
		} else if !gatewayWords[word] {
			return false
		}
	}
	return found
}

// isPathHeader reports whether a header names another path than the request has: the true one, or a
// second one, such as where a copy comes from or goes to.
func isPathHeader(name string) bool {
	return isAbout(name, "Url", "Uri", "Path", "Destinationurl") || name == "X-Forwarded-Prefix" ||
		name == "Destination" || // of WebDAV
		strings.HasSuffix(name, "-Copy-Source") || strings.HasSuffix(name, "-Rename-Source")
}

// isHostHeader reports whether a header names the host that the request is for.
func isHostHeader(name string) bool {
	return isAbout(name, "Host", "Hostname") || name == "X-Forwarded-Server"
}

// isMethodParameter reports whether services take the method from a parameter of the query:
// _method, as frameworks for forms have it and however PHP is made to read that name, or one with
// the name of a header.
func isMethodParameter(key string) bool {
	key, _, _ = strings.Cut(key, "[")
	name := strings.TrimRight(foldHeader(key), "-")
	plain := strings.TrimLeft(name, "-")
	return plain == "Method" && name != plain || strings.HasPrefix(name, "X-") && isAbout(name, "Method", "Verb")
}

// gatewayWords are the words, beside the part itself, in names of headers by which gateways tell
// what a request really is.
var gatewayWords = map[string]bool{
	"": true, "X": true, "Http": true, "Original": true, "Originating": true, "Rewrite": true, "Forwarded": true, "Request": true,
	"Proxy": true, "Override": true, "Replaced": true, "Base": true, "Envoy": true, "Real": true, "Raw": true, "Info": true, "Tunneled": true,
}

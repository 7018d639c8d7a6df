package httprequest

import (
	"net/url"
	"strings"
)

// Request has the parts of an HTTP request that a grant must allow. For some services, a header or the query
// overrides the method, the path, or the host. The grant must allow that, too.
type Request struct {
	*Target
	// Methods are the request's own, and those by which Override replaces it.
	Methods  []string
	Override string
	// Path has the segments of the path, unless services read it differently and PathError is set.
	Path      []string
	PathError error
	// Elsewhere is the header that names another path; empty for none.
	Elsewhere string
}

// New reads a request to the target. Its headers are added with [Request.Header].
func New(method string, target *Target) *Request {
	r := &Request{Target: target, Methods: []string{method}}
	r.Path, r.PathError = Segments(target.URL.EscapedPath())
	for part := range strings.FieldsFuncSeq(target.URL.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(key); err == nil && isMethodParameter(key) {
			if text, err := url.QueryUnescape(value); err == nil {
				value = text
			}
			r.overrides(key+" in the query", value)
		}
	}
	return r
}

// Header adds a header of the request.
func (r *Request) Header(name, value string) {
	switch folded := FoldHeader(name); {
	case isAbout(folded, "Method", "Verb"):
		r.overrides(name, value)
	case isPathHeader(folded) && r.Elsewhere == "":
		r.Elsewhere = name
	}
}

func (r *Request) overrides(by, method string) {
	r.Methods, r.Override = append(r.Methods, strings.ToUpper(strings.TrimSpace(method))), by
}

// isMethodParameter reports whether services take the method from a parameter of the query: _method of form
// frameworks, in all spellings that PHP reads so, or a parameter with the name of a header.
func isMethodParameter(key string) bool {
	key, _, _ = strings.Cut(key, "[")
	name := strings.TrimRight(FoldHeader(key), "-")
	plain := strings.TrimLeft(name, "-")
	return plain == "Method" && name != plain || strings.HasPrefix(name, "X-") && isAbout(name, "Method", "Verb")
}

package trust

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/wildcard"
)

// A pattern has the same components as the name that it matches: the scheme, host, port, and path of a source, and the ref of one
// in git; the subject and the ref of an identity. In each, * stands for any characters but the separators of its parts: / in a
// path, . in a host, and / and @ in a ref. ** stands for any characters, and stays in its component as well, so that no name in a
// path passes for a host, and no name of a branch for another. ** alone stands for everything, and SCHEME:** for everything of a
// scheme.

const anything = "**"

// kind is the kind of a component.
type kind int

const (
	scheme kind = iota
	host
	port
	path
	query
	fragment
	ref
	mailbox
)

// stops are the characters at which * ends.
var stops = map[kind]string{host: ".", path: "/", query: "/", fragment: "/", ref: "/@"}

// component is a part of a pattern or of a text.
type component struct {
	kind kind
	text string
}

// schemePattern matches the scheme of a URL, which may have a * in a pattern.
var schemePattern = lazyregexp.Regexp{Syntax: `^[A-Za-z*][A-Za-z0-9+.*-]*:`}

// splitURL returns the components of a URL without a ref.
func splitURL(text string) (all []component) {
	if prefix := schemePattern.Get().FindString(text); prefix != "" {
		all = append(all, component{scheme, strings.TrimSuffix(prefix, ":")})
		text = text[len(prefix):]
	}
	rest, hierarchical := strings.CutPrefix(text, "//")
	if !hierarchical || len(all) == 0 {
		return append(all, component{path, text})
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	if at := strings.LastIndexByte(authority, ':'); at > strings.LastIndexByte(authority, ']') {
		all = append(all, component{host, authority[:at]}, component{port, authority[at+1:]})
	} else {
		all = append(all, component{host, authority})
	}
	if rest[end:] != "" {
		all = append(all, component{path, rest[end:]})
	}
	return all
}

// cut splits the last component at a character. The rest becomes another component.
func cut(all []component, at string, into kind) []component {
	last := &all[len(all)-1]
	before, after, ok := strings.Cut(last.text, at)
	if !ok || last.kind == host {
		return all
	}
	last.text = before
	return append(all, component{into, after})
}

// splitSource returns the components of a source, or of a pattern of sources, in the one form that there is of each: a host, a
// port, and a path can be written in several ways that lead to the same place. plain is not set for a source that has another
// form than those, which a server may take for whatever it likes.
func splitSource(text string) (all []component, plain bool) {
	all, plain = splitAsWritten(text), true
	isWeb, defaultPort := false, "443"
	for i := 0; i < len(all); i++ {
		c := &all[i]
		switch c.kind {
		case scheme:
			isWeb = c.text == "http" || c.text == "https"
			if c.text == "http" || c.text == "git+http" {
				defaultPort = "80"
			}
		case host:
			name, ok := canonicalHost(c.text)
			if all[0].text == "oci" {
				if slices.Contains(dockerHosts, name) {
					name = dockerHosts[0]
				}
				if hostname.IsThisMachine(strings.Trim(name, "[]")) {
					defaultPort = "80"
				}
			}
			c.text, plain = name, plain && ok
		case port:
			if c.text = strings.TrimLeft(c.text, "0"); c.text == "" || c.text == defaultPort {
				all = slices.Delete(all, i, i+1)
				i--
			}
		case path, query, fragment:
			if c.text = plainEscapes(c.text); c.kind == path && isWeb && strings.Contains(c.text, "//") {
				plain = false
			}
		}
	}
	return all, plain && !leadsUp(all)
}

// dockerHosts are the names of one registry.
var dockerHosts = []string{"docker.io", "index.docker.io", "registry-1.docker.io"}

// canonicalHost returns the one form of a host. ok is not set for other texts: a client may take other letters for letters of a
// name, and numbers for an address.
func canonicalHost(text string) (name string, ok bool) {
	if strings.Contains(text, "*") {
		return strings.ToLower(strings.TrimSuffix(text, ".")), true
	}
	name, err := hostname.Canonical(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return text, false
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return name, true
}

// escape is an octet of a URL in hexadecimal digits.
var escape = lazyregexp.Regexp{Syntax: `%[0-9A-Fa-f]{2}`}

// plainEscapes decodes what needs no escape.
func plainEscapes(text string) string {
	return escape.Get().ReplaceAllStringFunc(text, func(escaped string) string {
		if n, err := strconv.ParseUint(escaped[1:], 16, 8); err == nil && (n >= 'a' && n <= 'z' || n >= 'A' && n <= 'Z' || n >= '0' && n <= '9' || strings.ContainsRune("-._~", rune(n))) {
			return string(rune(n))
		}
		return strings.ToUpper(escaped)
	})
}

// splitAsWritten returns the components of a source.
func splitAsWritten(text string) []component {
	after, hasRef := "", false
	if strings.HasPrefix(text, "git+") {
		// As for fetching it: the last @, which no ref has.
		if at := strings.LastIndexByte(text, '@'); at > strings.Index(text, "://")+len("://") && strings.Contains(text[:at], "/") {
			text, after, hasRef = text[:at], text[at+1:], true
		}
	}
	all := cut(cut(splitURL(text), "#", fragment), "?", query)
	if hasRef {
		all = append(all, component{ref, after})
	}
	return all
}

// splitIdentity returns the components of an identity: a URL of a workflow with its ref, or an address of mail. The first @ ends
// the subject: a branch may have one in its name.
func splitIdentity(text string) []component {
	subject, after, ok := strings.Cut(text, "@")
	all := splitURL(subject)
	switch {
	case !ok:
		return all
	case len(all) == 1:
		return []component{{mailbox, subject}, {host, after}}
	}
	return append(all, component{ref, after})
}

// isAll reports whether a pattern stands for everything, or for everything of the scheme that the text has.
func isAll(pattern []component, text []component) bool {
	switch len(pattern) {
	case 1:
		return pattern[0] == component{path, anything}
	case 2:
		return pattern[1] == component{path, anything} && pattern[0].kind == scheme && text[0].kind == scheme && glob(pattern[0], text[0].text)
	}
	return false
}

// matchComponents reports whether a text has the components of a pattern, and each matches.
func matchComponents(pattern, text []component) bool {
	if isAll(pattern, text) {
		return true
	}
	return slices.EqualFunc(pattern, text, func(p, t component) bool { return p.kind == t.kind && glob(p, t.text) })
}

// glob reports whether a text matches one component of a pattern.
func glob(p component, text string) bool { return wildcard.Match(p.text, text, stops[p.kind]) }

// matchesSource reports whether a source matches a pattern. A URL whose path leads up, or whose host is none, matches nothing,
// not even **: a server may take it for one that an earlier rule refuses.
func matchesSource(pattern, source string) bool {
	if pattern == source {
		return true
	}
	p, _ := splitSource(pattern)
	s, plain := splitSource(source)
	return plain && matchComponents(p, s)
}

// matchesIdentity reports whether an identity matches a pattern.
func matchesIdentity(pattern, identity string) bool {
	return pattern == identity || matchComponents(splitIdentity(pattern), splitIdentity(identity))
}

// leadsUp reports whether a URL with a host has a segment of its path that is . or .., perhaps in other letters.
func leadsUp(all []component) bool {
	if !slices.ContainsFunc(all, func(c component) bool { return c.kind == host }) {
		return false
	}
	return slices.ContainsFunc(all, func(c component) bool {
		if c.kind != path {
			return false
		}
		text, err := url.PathUnescape(c.text)
		return err != nil || slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), func(s string) bool {
			return s == "." || s == ".."
		})
	})
}

// matchedFormerly reports whether a text matched a pattern while * stood for any characters.
func matchedFormerly(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, err := regexp.MatchString(`(?s)\A`+strings.Join(parts, `.*`)+`\z`, text)
	return ok && err == nil
}

package selection

import (
	"regexp"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/wildcard"
)

// matcher matches any of several patterns. A pattern is a URN, or stands for several: * for any text
// without a colon in it, ** for any text at all.
type matcher []matching

type matching struct {
	pattern string
	glob    *regexp.Regexp // nil for a URN
	found   bool
}

func newMatcher(patterns []string) matcher {
	var m matcher
	for _, p := range patterns {
		one := matching{pattern: p}
		if strings.Contains(one.pattern, "*") {
			one.glob = regexp.MustCompile("^" + wildcard.Expression(one.pattern, ":") + "$") // all else is quoted
		}
		m = append(m, one)
	}
	return m
}

func (m matching) match(u urn.URN) bool {
	if m.glob != nil {
		return m.glob.MatchString(string(u))
	}
	return m.pattern == string(u)
}

func (m matcher) match(u urn.URN) bool {
	for i := range m {
		if m[i].match(u) {
			return true
		}
	}
	return false
}

// note notes that there is a resource of that URN.
func (m matcher) note(u urn.URN) {
	for i := range m {
		m[i].found = m[i].found || m[i].match(u)
	}
}

// unmatched returns the patterns that no resource matched, of those with stars only if globs is set.
func (m matcher) unmatched(option string, globs bool) []Unmatched {
	var out []Unmatched
	for _, one := range m {
		if !one.found && (globs || one.glob == nil) {
			out = append(out, Unmatched{option, one.pattern})
		}
	}
	return out
}

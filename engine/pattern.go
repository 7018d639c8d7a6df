package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
)

// Pattern is a URN, or stands for several: * for any text without a colon in it, **
// for any text at all.
type Pattern string

// matcher matches any of several patterns.
type matcher []matching

type matching struct {
	pattern string
	glob    *regexp.Regexp // nil for a URN
	found   bool
}

func newMatcher(patterns []Pattern) matcher {
	var m matcher
	for _, p := range patterns {
		one := matching{pattern: string(p)}
		if strings.Contains(one.pattern, "*") {
			glob := regexp.QuoteMeta(one.pattern)
			glob = strings.ReplaceAll(glob, `\*\*`, `(?s:.*)`)
			glob = strings.ReplaceAll(glob, `\*`, `[^:]*`)
			one.glob = regexp.MustCompile("^" + glob + "$") // all else is quoted
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

// find notes that there is a resource of that URN.
func (m matcher) find(u urn.URN) {
	for i := range m {
		m[i].found = m[i].found || m[i].match(u)
	}
}

// missing is an error for each pattern that no resource matched.
func (m matcher) missing(what string, globs bool) error {
	var errs []error
	for _, one := range m {
		if !one.found && (globs || one.glob == nil) {
			errs = append(errs, &TargetNotFoundError{Option: what, Pattern: Pattern(one.pattern)})
		}
	}
	return errors.Join(errs...)
}

// TargetNotFoundError says that the user named a resource that does not exist.
type TargetNotFoundError struct {
	// Option is the one that names it: target, exclude, or replace.
	Option  string
	Pattern Pattern
}

// Error names it.
func (e *TargetNotFoundError) Error() string {
	msg := fmt.Sprintf("--%s %s: there is no such resource: husk state ls lists those of the stack", e.Option, e.Pattern)
	if !strings.ContainsAny(string(e.Pattern), "*$") {
		msg += " (in a shell, a URN with $ in it needs single quotes)"
	}
	return msg
}

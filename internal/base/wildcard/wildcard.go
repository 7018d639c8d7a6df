// Package wildcard matches texts against patterns with * and **.
package wildcard

import (
	"regexp"
	"strings"
)

// Expression returns the regular expression of a pattern, without anchors: * stands for any text without the characters of stops,
// and ** for any text.
func Expression(pattern, stops string) string {
	const anything = `(?s:.*)`
	part := anything
	if stops != "" {
		part = `[^` + regexp.QuoteMeta(stops) + `]*`
	}
	return strings.NewReplacer(`\*\*`, anything, `\*`, part).Replace(regexp.QuoteMeta(pattern))
}

// Match reports whether a whole text matches a pattern, as [Expression] says. A pattern that is not UTF-8 matches nothing.
func Match(pattern, text, stops string) bool {
	ok, err := regexp.MatchString(`\A`+Expression(pattern, stops)+`\z`, text)
	return ok && err == nil
}

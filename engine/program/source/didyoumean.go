package source

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// DidYouMean returns "; did you mean ...?" with the nearest candidate, or nothing if none is near.
func DidYouMean(name string, candidates []string) string {
	near := schema.Nearest(name, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(suggestion, near)
}

// suggestion ends the summary of a diagnostic.
const suggestion = "; did you mean %q?"

var suggested = lazyregexp.Regexp{Syntax: `; did you mean ("(?:[^"\\]|\\.)*")\?$`}

// Suggestion returns the name that the summary suggests, empty if it suggests none.
func (d Diagnostic) Suggestion() string {
	m := suggested.Get().FindStringSubmatch(d.Summary)
	if m == nil {
		return ""
	}
	name, _ := strconv.Unquote(m[1])
	return name
}

// Unknown reports a key that what does not have.
func (r *Report) Unknown(f Field, what string, known []string) {
	near := r.DidYouMean(f.Name, func() []string { return known })
	d := r.File.Errorf(Of(f.Key), "unknown key %q in %s%s", f.Name, what, near)
	if near == "" {
		d.Detail = "known keys: " + strings.Join(known, ", ")
	}
	r.Add(d)
}

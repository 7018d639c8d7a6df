package source

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
)

// DidYouMean returns "; did you mean ...?" with the nearest candidate, or nothing if none is near.
func DidYouMean(name string, candidates []string) string {
	near := schema.Nearest(name, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// Unknown reports a key that what does not have.
func (r *Report) Unknown(f Field, what string, known []string) {
	near := DidYouMean(f.Name, known)
	d := r.File.Errorf(Of(f.Key), "unknown key %q in %s%s", f.Name, what, near)
	if near == "" {
		d.Detail = "known keys: " + strings.Join(known, ", ")
	}
	r.Add(d)
}

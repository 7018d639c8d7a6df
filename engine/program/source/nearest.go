package source

import (
	"fmt"

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

package document

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// JSON finds the JSON among the forms of a body: its media type and schema, "" and nil if there is none. Patches of RFC
// 6902 are lists of operations, which no resource can have.
func JSON(content openapi3.Content) (string, *openapi3.SchemaRef) {
	for _, name := range slices.SortedFunc(maps.Keys(content), func(a, b string) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a, b))
	}) {
		if media := content[name]; preference(name) < noJSON && media != nil && media.Schema != nil {
			if preference(name) == anyMedia {
				name = "application/json"
			}
			return name, media.Schema
		}
	}
	return "", nil
}

// MergePatch is the media type of RFC 7396.
const MergePatch = "application/merge-patch+json"

// How well a media type suits, the best first.
const (
	plainJSON = iota
	mergePatch
	otherJSON
	anyMedia
	noJSON
)

func preference(media string) int {
	media, _, _ = strings.Cut(media, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case media == "application/json":
		return plainJSON
	case media == MergePatch:
		return mergePatch
	case media == "application/json-patch+json":
		return noJSON
	case strings.HasSuffix(media, "+json"):
		return otherJSON
	case media == "*/*" || media == "application/*":
		return anyMedia
	}
	return noJSON
}

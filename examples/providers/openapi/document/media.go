package document

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// JSON finds the JSON among the media types of a body: its name and schema, "" and nil if there is none. Patches of RFC
// 6902 are lists of operations, which no resource can have.
func JSON(content openapi3.Content) (string, *openapi3.SchemaRef) {
	if name, media := best(content); preference(name) < urlencoded {
		return name, media.Schema
	}
	return "", nil
}

// Body finds what a request sends: JSON, or else a form; "" and nil if there is neither.
func Body(content openapi3.Content) (string, *openapi3.MediaType) { return best(content) }

// best returns the media type with a schema that suits best, "" and nil for none.
func best(content openapi3.Content) (string, *openapi3.MediaType) {
	for _, name := range slices.SortedFunc(maps.Keys(content), func(a, b string) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a, b))
	}) {
		if media := content[name]; preference(name) < unknownMedia && media != nil && media.Schema != nil {
			if preference(name) == anyMedia {
				name = "application/json"
			}
			return name, media
		}
	}
	return "", nil
}

// IsForm reports whether a media type is a form: pairs of names and values.
func IsForm(media string) bool { return preference(media) == urlencoded || IsMultipart(media) }

// IsMultipart reports whether a media type is a form whose values are parts of a message.
func IsMultipart(media string) bool { return preference(media) == multipart }

// MergePatch is the media type of RFC 7396.
const MergePatch = "application/merge-patch+json"

// How well a media type suits, the best first.
const (
	plainJSON = iota
	mergePatch
	otherJSON
	anyMedia
	urlencoded
	multipart
	unknownMedia
)

func preference(media string) int {
	media, _, _ = strings.Cut(media, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case media == "application/json":
		return plainJSON
	case media == MergePatch:
		return mergePatch
	case media == "application/json-patch+json":
		return unknownMedia
	case media == "application/x-www-form-urlencoded":
		return urlencoded
	case media == "multipart/form-data":
		return multipart
	case strings.HasSuffix(media, "+json"):
		return otherJSON
	case media == "*/*" || media == "application/*":
		return anyMedia
	}
	return unknownMedia
}

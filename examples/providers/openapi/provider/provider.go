// Package provider makes a package of an OpenAPI document: resources of the paths that
// have operations to create, read, change, and delete something, and functions of the
// other GET operations. Anyone who has a document manages a service with it, without a
// provider of its own.
//
// A document is read once, when the provider is parameterized ([New]); its operations become resources (derive,
// resource) and functions (function), which speak JSON over HTTP (client).
package provider

import (
	"context"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// New returns the provider before it is given a document: it has no resources of its own.
func New() guest.Provider {
	return guest.Provider{
		Name: "openapi", Version: "0.1.0", DisplayName: "OpenAPI",
		Description: "Resources and functions of any service that an OpenAPI document describes.",
		Keywords:    []string{"openapi", "swagger", "http"},
		License:     "Apache-2.0",
		Requests: []abi.CapabilityRequest{
			{Capability: "http", Reason: "the service, and its document where that is a URL", Optional: true},
			{Capability: "fs", Reason: "the service's document where that is a file", Optional: true},
		},
		Parameterize: parameterize,
	}
}

const usage = "the parameters are the document, as a file or a URL, then, if the package is not to be called as the document is, a name, " +
	"and then what the document does not say, as a mapping or the name of a file: [./petstore.yaml, petstore, {resources: {Pet: {update: none}}}]"

func parameterize(ctx context.Context, p guest.Parameters) (guest.Parameterized, error) {
	var doc *document.Document
	var err error
	name := p.Name
	switch {
	case p.Args == nil:
		doc, err = document.Parse(ctx, p.Value)
	case len(p.Args) == 0 || len(p.Args) > 3:
		return guest.Parameterized{}, guest.InvalidArgument("", usage)
	default:
		var overrides document.Overrides
		if len(p.Args) == 3 {
			if overrides, err = document.ReadOverrides(ctx, p.Args[2]); err != nil {
				return guest.Parameterized{}, err
			}
		}
		if doc, err = document.Load(ctx, p.Args[0], overrides); err == nil {
			name = packageName(doc.Spec.Info.Title)
		}
		if len(p.Args) > 1 {
			name = p.Args[1]
		}
	}
	if err != nil {
		return guest.Parameterized{}, err
	}
	if !isPackageName(name) {
		return guest.Parameterized{}, guest.InvalidArgument("", "the name of a package has lower-case letters, digits, and hyphens, and begins with a letter, which \""+name+
			"\" does not; give another one as the second parameter")
	}
	a, err := derive(doc, name)
	if err != nil {
		return guest.Parameterized{}, err
	}
	if len(doc.Value) > guest.MaxParameter {
		return guest.Parameterized{}, guest.InvalidArgument("", "the document is too large to be kept in a state, even without its examples and errors; "+
			"name the paths that are needed in the third parameter: {paths: [/pets**]}")
	}
	warn(ctx, doc.Skipped)
	return guest.Parameterized{Provider: a.provider(), Value: doc.Value}, nil
}

// manySkipped is how many operations are named that cannot be understood.
const manySkipped = 10

func warn(ctx context.Context, skipped []document.Skipped) {
	for _, s := range skipped[:min(len(skipped), manySkipped)] {
		guest.Log(ctx).Warning(s.String())
	}
	if rest := len(skipped) - manySkipped; rest > 0 {
		guest.Log(ctx).Warning(strconv.Itoa(rest) + " more operations are left out, because they cannot be understood")
	}
}

func isPackageName(name string) bool {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '-')) {
			return false
		}
	}
	return name != ""
}

// packageName returns the name that the title of a document suggests: Swagger Petstore is petstore.
func packageName(title string) string {
	var words []string
	for _, word := range wordsOf(title) {
		switch word {
		case "api", "rest", "openapi", "swagger", "the":
		default:
			words = append(words, word)
		}
	}
	return strings.TrimLeft(strings.Join(words, "-"), "0123456789-")
}

// Package provider makes a package of an OpenAPI document: resources of the paths that
// have operations to create, read, change, and delete something, and functions of the
// other GET operations. Anyone who has a document manages a service with it, without a
// provider of its own.
//
// A document is read once, when the provider is parameterized ([New]); it becomes a
// description of the package (api) and the clients of its operations (resource,
// function), which speak JSON over HTTP (client).
package provider

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
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

const usage = "the parameters are the document, as a file or a URL, and, if the package is not to be called as the document is, a name: [./petstore.yaml, petstore]"

func parameterize(ctx context.Context, p guest.Parameters) (guest.Parameterized, error) {
	var doc *document
	var err error
	name := p.Name
	switch {
	case p.Args == nil:
		doc, err = parse(p.Value)
	case len(p.Args) == 0 || len(p.Args) > 2:
		return guest.Parameterized{}, guest.InvalidArgument("", usage)
	default:
		if doc, err = load(ctx, p.Args[0]); err == nil {
			name = doc.packageName()
		}
		if len(p.Args) == 2 {
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
	if len(doc.normal) > guest.MaxParameter {
		return guest.Parameterized{}, guest.InvalidArgument("", "the document is too large to be kept in a state, even without its examples and errors; leave out the paths that are not needed")
	}
	return guest.Parameterized{Provider: a.provider(), Value: doc.normal}, nil
}

func isPackageName(name string) bool {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '-')) {
			return false
		}
	}
	return name != ""
}

// packageName returns the name that a document's title suggests: Swagger Petstore is petstore.
func (d *document) packageName() string {
	var words []string
	for _, word := range wordsOf(d.spec.Info.Title) {
		switch word {
		case "api", "rest", "openapi", "swagger", "the":
		default:
			words = append(words, word)
		}
	}
	return strings.TrimLeft(strings.Join(words, "-"), "0123456789-")
}

// Package policy is what the author of a policy pack imports. A pack is a module that
// judges what a deployment is about to do. Its policies are Go functions:
//
//	package main
//
//	import (
//		"context"
//
//		"github.com/husk-dev/husk/guest-sdk/policy"
//	)
//
//	type Tags struct {
//		Required []string `husk:"required,optional" doc:"The tags that every resource with tags must have."`
//	}
//
//	func hasTags(_ context.Context, r policy.ResourceRequest[Tags]) ([]policy.Violation, error) {
//		tags, ok := r.Resource.Properties.Get("tags").AsObject()
//		if !ok {
//			return nil, nil
//		}
//		var found []policy.Violation
//		for _, name := range r.Config.Required {
//			if !tags.Has(name) {
//				found = append(found, policy.Violation{Path: "tags", Message: "add the tag " + name})
//			}
//		}
//		return found, nil
//	}
//
//	func main() {
//		policy.Serve(policy.Pack{
//			Name:    "house",
//			Version: "1.0.0",
//			Policies: []policy.Policy{policy.Of(policy.Rule[Tags]{
//				Name:        "required-tags",
//				Description: "Resources have the tags that the house asks for.",
//				Level:       policy.Mandatory,
//				Resource:    hasTags,
//			})},
//		})
//	}
//
// The fields of a policy's configuration have the tags of a provider's inputs, which
// package guest describes, defaults among them. The operator of a deployment sets them,
// and each policy's level.
//
// # Values
//
// Properties are as the engine has them. In a preview a value may be unknown, since what
// it comes from does not exist yet: [property.Value.ContainsUnknowns] tells, and a policy
// that cannot judge then lets the resource pass, since the update asks again. A secret is
// of kind secret with the value inside, which [property.Value.Plain] returns. A policy
// must not put it into a message; husk takes out what it finds there.
//
// # Building
//
//	husk provider build . -o house.wasm
//
// or GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. A module is either a provider
// or a policy pack: it must not import package guest. The same pack runs inside a native
// program, which is how it is tested: see [New].
package policy

// Package policy is the SDK for authors of policy packs: modules that judge what a deployment is about
// to do. Policies are Go functions, see the example of [New]. The fields of a policy's configuration
// have the tags of a provider's inputs, which package guest describes. The operator of a deployment
// sets the configuration and the level of each policy.
//
// # Values
//
// In a preview a property may be unknown: [property.Value.ContainsUnknowns] reports it. A policy that
// cannot judge then lets the resource pass, because the update asks again. A secret is of kind secret, and [property.Value.Plain]
// returns its contents. A policy must not put a secret into a message; husk removes what it finds there.
//
// # Building
//
// `husk provider build . -o house.wasm` builds the module, or without husk GOOS=wasip1 GOARCH=wasm
// go build -buildmode=c-shared. A module is either a provider or a policy pack: it must not import
// package guest. [New] returns the same pack for a native program, such as a test.
package policy

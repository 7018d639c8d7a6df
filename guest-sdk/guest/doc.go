// Package guest is what the author of a provider imports. A resource is a Go type
// with a Create method, whose inputs and state are structs with tags:
//
//	package main
//
//	import (
//		"context"
//
//		"github.com/husk-dev/husk/guest-sdk/guest"
//	)
//
//	type GreetingInputs struct {
//		Name string `husk:"name,replace" doc:"Who is greeted."`
//		Mark string `husk:"mark,default=!,oneof=!|?|." doc:"What the greeting ends with."`
//	}
//
//	type GreetingState struct {
//		GreetingInputs
//		Text string `husk:"text" doc:"The greeting."`
//	}
//
//	type Greeting struct{}
//
//	func (Greeting) Create(_ context.Context, r guest.CreateRequest[GreetingInputs]) (guest.CreateResponse[GreetingState], error) {
//		state := GreetingState{r.Inputs, "Hello, " + r.Inputs.Name + r.Inputs.Mark}
//		return guest.CreateResponse[GreetingState]{ID: r.Name, State: state}, nil
//	}
//
//	func main() {
//		guest.Serve(guest.Provider{
//			Name:      "greet",
//			Version:   "1.0.0",
//			Resources: []guest.Resource{guest.ResourceOf("greet:index:Greeting", Greeting{})},
//		})
//	}
//
// From these types come the package's schema, the validation of inputs with their
// defaults, and the detailed diff. Further methods, each an interface of this package,
// say more: [Reader], [Updater], [Deleter], [Checker], [Differ], [Previewer],
// [Lister].
//
// # Tags
//
// The tag husk:"name,..." gives a field's property its name; a field whose tag is
// husk:"-" is no property. Structs that are embedded without a tag contribute their
// fields. Behind the name may stand, for inputs,
//
//	optional      the property need not be given; so with every pointer
//	computed      optional, and the provider may choose a value if none is given
//	default=2     the value of a property that is not given
//	replace       a change replaces the resource
//	min=1,max=9   bounds of a number, both inclusive
//	oneof=a|b     the only values
//	autoname      the property is the resource's name; if none is given, it keeps the
//	              one it has, or gets one: what the stack's configuration
//	              pulumi:autonaming proposes, else the name in the program with random
//	              characters after it. autoname=24 is one of at most 24 characters
//
// for outputs
//
//	stable        an update never changes the property
//
// and for both
//
//	secret        the property is always sensitive
//	resource=a:b:C  references are to resources of that type; for one of another
//	              package, resource=/a/v1.0.0/schema.json#/resources/a:b:C
//
// A value with a comma in it stands in single quotes: default=', '. The tag doc:"..."
// describes the property, deprecated:"..." says what to use instead.
//
// # Fields
//
// Fields are bools, integers, floats, strings, slices, maps with string keys (whose
// structs stand behind pointers), structs with a name, pointers to these, or types of
// package property: Value for a property of any type, Map, Asset, Archive,
// ResourceReference. A reference names a resource by its URN and ID; in the field of a
// resource that is a string, the ID of a resource arrives where a program refers to
// it. Nil pointers, slices, and maps are left out of the state; other
// fields are always there, zero or not. A secret reaches the provider as what it
// holds, except in fields of type property.Value.
//
// # Previews and unknowns
//
// A preview calls none of the methods that change anything. The SDK computes it: an output
// with the name of an input will have the input's value, and any other is unknown, unless
// a [Previewer] knows it. Methods other than Check and Diff never see unknown values. In
// these two an unknown field is zero, and Known reports whether a field is known.
//
// # Components
//
// A component is a resource that is made of others, of any package. Its type has a
// Construct method that declares them with a [Deployment]; see [ComponentOf]. Nothing
// waits there: what a child will have is an [Out], which is passed on to the inputs of
// other children and to the component's outputs, and is unknown in a preview. The SDK
// registers the component and its outputs, and makes children in parallel that do not
// depend on each other:
//
//	func (Site) Construct(_ context.Context, r guest.ConstructRequest[SiteInputs], d *guest.Deployment) (SiteOutputs, error) {
//		key := d.Resource(guest.Declaration{
//			Type: "tls:index/privateKey:PrivateKey", Name: r.Name + "-key",
//			Inputs: guest.Props{"algorithm": "ED25519"},
//		})
//		file := d.Resource(guest.Declaration{
//			Type: "local:index/file:File", Name: r.Name + "-file",
//			Inputs: guest.Props{
//				"path":    guest.Concat(r.Inputs.Directory, "/key.pub"),
//				"content": guest.Field[string](key, "publicKeyPem"),
//			},
//		})
//		return SiteOutputs{Path: guest.Field[string](file, "path")}, nil
//	}
//
// Fields of a component's inputs that are no Outs are for what decides which children
// there are. They must be known, and must not be secret.
//
// # Instances
//
// The host calls a provider in several instances, each with a memory of its own: one for
// each call that runs at the same time, and others after these have ended. What an instance
// keeps in a variable, no other one sees.
//
// Instances may begin with an image of the memory after package variables and main, or after
// Configure, and then do not run these. An image is taken only if they read neither the clock nor
// random numbers, print nothing, and do not call the host, so that each instance has a generator,
// a key, or a time of its own that it made there. Calls of the host, and output, are allowed in
// Configure: what it learns of a file, a variable, or a service is for all instances of the
// configuration. Go leaves the order of maps open, and it may be the same in all instances for a
// loop that ran as they started.
//
// A provider without an image starts some milliseconds later in each instance. The command
// husk provider inspect --ask shows whether there is one, and if not, which function read what.
//
// # Building
//
// A provider is a WebAssembly module of standard Go:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o greet.wasm
//
// The same provider runs inside a native program: [New] returns it as an
// abi.Provider, which is how it is tested.
package guest

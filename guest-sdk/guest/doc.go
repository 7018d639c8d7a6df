// Package guest is the SDK for authors of providers. A resource is a Go type with a Create method,
// whose inputs and state are structs with tags:
//
//	type GreetingInputs struct {
//		Name string `husk:"name,replace" doc:"Who is greeted."`
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
//		return guest.CreateResponse[GreetingState]{ID: r.Name, State: GreetingState{r.Inputs, "Hello, " + r.Inputs.Name}}, nil
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
// The SDK derives from the types the schema, the checks and defaults of inputs, and the detailed diff.
// More methods are optional: [Reader], [Updater], [Deleter], [Checker], [Differ], [Previewer],
// [Lister]. A component declares other resources: see [ComponentOf].
//
// # Tags
//
// The tag husk:"name,..." names a field's property. A field with husk:"-" has none. Structs that are
// embedded without a tag contribute their fields. Options for inputs are
//
//	optional      the program may leave the property out; so with every pointer
//	computed      optional, and the provider may choose a value
//	default=2     the value if the program gives none
//	replace       a change replaces the resource
//	min=1,max=9   bounds of a number, both inclusive
//	oneof=a|b     the only values
//	writeonly     secret, and never recorded: the state must not have it. A change of it alone is
//	              none, so give the resource a version of the value as another input
//	autoname      the property is the resource's name. If the program gives none, it keeps its
//	              old one, or gets the one that pulumi:autonaming proposes, or the name in the
//	              program with a random suffix. autoname=24 allows at most 24 characters
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
// A value with a comma needs single quotes: default=', '. doc:"..." describes the property, and
// deprecated:"..." names its replacement.
//
// # Fields
//
// Fields are bools, integers, floats, strings, slices, maps with string keys (to structs by pointer),
// named structs, pointers to these, or types of package property: Value for any type, Map, Asset,
// Archive, ResourceReference. A string field receives the ID of a resource that the program refers to.
// Nil pointers, slices, and maps are left out of the state; other fields are always there. A secret
// arrives as its plain value, except in fields of type property.Value.
//
// # Previews and unknowns
//
// A preview calls no method that changes anything. The SDK computes it: an output with the name of
// an input has the input's value, and any other is unknown, unless a [Previewer] knows it. Only Check
// and Diff see unknown values: the field is zero, and Known reports whether it is known.
//
// # Instances
//
// The host calls a provider in several instances, each with its own memory, because calls run in
// parallel and instances are recycled. A variable is seen by its own instance only.
//
// An instance may start from an image: the memory after package variables and main, or after
// Configure. The host takes one only if they read neither the clock nor random numbers, print nothing,
// and do not call the host. In Configure output and calls of the host are allowed, and their results
// are for all instances of the configuration. The order of a map's iteration may be the same in all
// instances. `husk provider inspect --ask` shows whether there is an image, and if not, which function
// read what.
//
// # Building
//
// `husk provider build . -o greet.wasm` builds the module, or without husk
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o greet.wasm
//
// [New] returns the same provider for a native program, such as a test.
package guest

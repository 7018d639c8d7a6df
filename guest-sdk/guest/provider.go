package guest

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
)

// SDK is the name and version that a provider tells its host, for messages.
const SDK = "husk guest-sdk 0.1.0"

// Provider is a package of resources and functions, for [Serve] and [New]. It must not depend on
// time, place, or grants: a host caches the schema.
type Provider struct {
	// Name is the package's name, for example random. All tokens begin with it.
	Name string
	// Version is the package's semantic version, for example 4.16.0.
	Version string

	DisplayName string
	Description string
	Keywords    []string
	Homepage    string
	License     string
	Repository  string
	Publisher   string

	// Requests are the capabilities that the provider needs. They grant nothing, but advise the
	// operator. The reason of a request without a scope says what the scope depends on.
	Requests []abi.CapabilityRequest
	// Config is the provider's configuration, see [ConfigOf]; the zero Config is none.
	Config    Config
	Resources []Resource
	Functions []Function
	// Streams are functions whose results come one by one.
	Streams []Stream
	// Ephemerals open values that are never recorded.
	Ephemerals []Ephemeral
	Actions    []Action
	Components []Component
	// Types are the objects that [ResourceFrom], [FunctionFrom], and [ConfigFrom] refer to.
	Types []*schema.Object
	// Parameterize makes another package of the provider. It is called once, before the
	// configuration; nil if the provider has no parameters.
	Parameterize func(ctx context.Context, parameters Parameters) (Parameterized, error)
	// Extend makes a package that the provider serves beside its own, with the provider's
	// configuration. It is called any number of times, before and after the configuration; nil
	// for no such packages. The package has another name, and neither a configuration nor
	// parameters.
	Extend func(ctx context.Context, parameters Parameters) (Parameterized, error)
	// Mappings are for programs of other ecosystems; most providers have none.
	Mappings []Mapping
	// Close releases what the provider holds; nil if it holds nothing.
	Close func(context.Context) error
}

// Resource is a type of resource of a provider, see [ResourceOf].
type Resource struct{ declaration }

// Function is a function of a provider, see [FunctionOf].
type Function struct{ declaration }

// Config is the configuration of a provider, see [ConfigOf].
type Config struct {
	properties properties
	configure  func(ctx context.Context, config unsafe.Pointer) error
	deferred   bool
}

// Deferred makes the configuration lazy: the host calls its function when the first method needs it,
// and not for an update that changes nothing. Errors come later, too. A provider without a
// configuration is always lazy.
func (c Config) Deferred() Config { c.deferred = true; return c }

// about has the options of a resource or function.
type about struct {
	description         string
	deprecation         string
	aliases             []string
	deleteBeforeReplace bool
	identity            []string
	// resource or function is the whole description, for [ResourceFrom] and [FunctionFrom].
	resource *schema.Resource
	function *schema.Function
}

// Option says something about a resource or a function.
type Option func(*about)

// Doc describes the resource or function to its users, in Markdown.
func Doc(text string) Option { return func(a *about) { a.description = text } }

// Deprecated says what to use instead.
func Deprecated(message string) Option { return func(a *about) { a.deprecation = message } }

// Alias gives an earlier token of the resource, under which states may hold it.
func Alias(token string) Option { return func(a *about) { a.aliases = append(a.aliases, token) } }

// DeleteBeforeReplace makes a replacement delete the old resource first, because two cannot exist at
// the same time: for example if the name of the resource is the ID of its object.
func DeleteBeforeReplace() Option { return func(a *about) { a.deleteBeforeReplace = true } }

// Identity names the inputs that identify the resource's object, such as the path of a file. A
// replacement that leaves all of them unchanged deletes the object first; otherwise it would create
// the object over itself, and then delete it.
func Identity(inputs ...string) Option {
	return func(a *about) { a.identity = append(a.identity, inputs...) }
}

func aboutOf(options []Option) about {
	var a about
	for _, option := range options {
		option(&a)
	}
	return a
}

// ConfigOf returns the configuration whose properties are the fields of C. configure is called with
// the checked configuration before any method of resources. Each instance runs it, unless it starts
// from an image, see the package's documentation. If a preview does not know the configuration yet,
// neither configure nor the methods of resources are called, and the SDK computes previews.
//
// A change of a field that is tagged replace replaces the provider with all its resources.
func ConfigOf[C any](configure func(ctx context.Context, config C) error) Config {
	var zero C
	return Config{properties: properties{typ: reflect.TypeOf(zero)}, configure: func(ctx context.Context, config unsafe.Pointer) error {
		return configure(ctx, *(*C)(config))
	}}
}

// FunctionOf returns the function with a token, whose arguments and results are the fields of A and
// R. All results of a call with a secret argument are secret.
func FunctionOf[A, R any](token string, call func(ctx context.Context, args A) (R, error), options ...Option) Function {
	var zeroArgs A
	var zeroResult R
	about := aboutOf(options)
	about.description = docs.Function(about.description, reflect.ValueOf(call))
	return newFunction(token, about, properties{typ: reflect.TypeOf(zeroArgs)}, properties{typ: reflect.TypeOf(zeroResult)},
		func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, error) {
			result, err := call(ctx, *(*A)(args))
			return unsafe.Pointer(&result), err
		})
}

// ResourceFrom is [ResourceOf] for properties that are known only at run time, such as the ones that [Provider.Parameterize]
// reads from a document. The implementation gets inputs and states with secrets, and in Check and Diff with unknowns. The SDK
// sets SchemaCheck and SchemaDiff of the description.
func ResourceFrom(described schema.Resource, implementation Creator[property.Map, property.Map]) Resource {
	return typedResource(described.Token, implementation, about{resource: &described})
}

// FunctionFrom is [FunctionOf] for arguments and results that are known at run time.
func FunctionFrom(described schema.Function, call func(ctx context.Context, args property.Map) (property.Map, error)) Function {
	return newFunction(described.Token, about{function: &described}, properties{described: &described.Args}, properties{described: &described.Result},
		func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, error) {
			result, err := call(ctx, *(*property.Map)(args))
			return unsafe.Pointer(&result), err
		})
}

// ConfigFrom is [ConfigOf] for a configuration that is known at run time.
func ConfigFrom(described schema.Object, configure func(ctx context.Context, config property.Map) error) Config {
	return Config{properties: properties{described: &described}, configure: func(ctx context.Context, config unsafe.Pointer) error {
		return configure(ctx, *(*property.Map)(config))
	}}
}

// usage returns the advice for a provider that was built or run as a program.
func usage(p Provider) string {
	return p.Name + " " + p.Version + ` is a provider for husk, which runs it as a WebAssembly module. Build one with

	husk provider build . -o ` + p.Name + `.wasm

or without husk

	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ` + p.Name + `.wasm .
`
}

// rawUsage is usage for a provider whose name is not known.
const rawUsage = `this is a provider for husk, which runs it as a WebAssembly module. Build one with

	husk provider build .
`

package guest

import (
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// ResourceFrom is [ResourceOf] for a type of resource whose properties are known only
// when the provider runs, such as one that [Provider.Parameterize] reads from a
// document. The implementation gets inputs and states as they are: with secrets, and in
// Check and Diff with unknowns. SchemaCheck and SchemaDiff in the description follow
// from the implementation's methods.
func ResourceFrom(described schema.Resource, implementation Creator[property.Map, property.Map]) Resource {
	r := typedResource(described.Token, implementation, about{})
	r.described = &described
	return r
}

// FunctionFrom is [FunctionOf] for a function whose arguments and results are known only
// when the provider runs.
func FunctionFrom(described schema.Function, call func(ctx context.Context, args property.Map) (property.Map, error)) Function {
	return Function{token: described.Token, described: &described, call: func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, error) {
		result, err := call(ctx, *(*property.Map)(args))
		return unsafe.Pointer(&result), err
	}}
}

// ConfigFrom is [ConfigOf] for a configuration that is known only when the provider
// runs.
func ConfigFrom(described schema.Object, configure func(ctx context.Context, config property.Map) error) Config {
	return Config{described: &described, configure: func(ctx context.Context, config unsafe.Pointer) error {
		return configure(ctx, *(*property.Map)(config))
	}}
}

// describedShape is the shape of properties that are described.
func describedShape(o *schema.Object) (*shape.Shape, error) {
	names := o.Names()
	if !slices.IsSorted(names) || len(slices.Compact(names)) < len(o.Properties) {
		return nil, errors.New("its properties are not sorted by name, each once")
	}
	return shape.Properties(o), nil
}

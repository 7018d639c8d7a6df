package schema

import (
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// CheckAnswer checks a provider's state, or the inputs of a read, against its own schema. It is less strict than [Object.Check],
// because an existing object may have more than a program may request: properties may be missing or null, numbers out of bounds,
// and enum values unknown. Names that begin with two underscores are the provider's own, and every resource has an id and a urn.
func (o *Object) CheckAnswer(answer property.Map) []abi.CheckFailure {
	_, failures := (&checker{path: make(property.Path, 0, firstDepth), fromProvider: true}).run(o, answer)
	return failures
}

// CheckAnswer checks a function's result against the schema. A result of a type without properties
// is the only value of the map, under any name.
func (f *Function) CheckAnswer(result property.Map) []abi.CheckFailure {
	if f.Returns == nil {
		return f.Result.CheckAnswer(result)
	}
	c := checker{fromProvider: true}
	switch f.Returns.Kind {
	case KindObject, KindMap, KindUnion, KindAny:
		c.value(f.Returns, property.Object(result))
		if len(c.failures) == 0 || result.Len() != 1 {
			return c.failures
		}
		c.failures = nil
	}
	if result.Len() != 1 {
		c.fail("expected one value, " + f.Returns.String())
	}
	for name, value := range result.All() {
		c.enter(property.Key(name))
		c.value(f.Returns, value)
		c.leave()
	}
	return c.failures
}

// isReserved reports whether a provider may return a property that its schema does not have.
func isReserved(name string) bool {
	return strings.HasPrefix(name, "__") || name == "id" || name == "urn"
}

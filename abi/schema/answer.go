package schema

import (
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// CheckAnswer holds what a provider answers to its own schema: a state, or the inputs
// that a read finds. It asks less than [Object.Check] does of a program, because what
// exists may be other than what may be asked for: properties may be missing or null,
// numbers out of bounds, and values of an enum unheard of. Names that begin with two
// underscores are the provider's own, and every resource has an id and a urn.
func (o *Object) CheckAnswer(answer property.Map) []abi.CheckFailure {
	_, failures := (&checker{path: make(property.Path, 0, firstDepth), answered: true}).run(o, answer)
	return failures
}

// CheckAnswer holds a function's result to the schema. A result of a type that has no
// properties is the only value in the answer, whatever its name is.
func (f *Function) CheckAnswer(result property.Map) []abi.CheckFailure {
	if f.Returns == nil {
		return f.Result.CheckAnswer(result)
	}
	c := checker{answered: true}
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

// reserved reports whether a name that a schema does not have is all the same one that
// a provider may answer.
func reserved(name string) bool {
	return strings.HasPrefix(name, "__") || name == "id" || name == "urn"
}

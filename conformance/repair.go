package conformance

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/fakevalue"
)

// repairer changes generated inputs that a provider refuses, by what it says: schemas
// do not tell which properties exclude or need each other, or which must be in order.
type repairer struct {
	object *schema.Object
	// make makes up values, and again whole inputs.
	make  *fakevalue.Generator
	again func(attempt int) property.Map
	// secret says that all inputs are secret.
	secret bool

	attempts, restarts int
	dropped            map[string]bool
}

const (
	// maxRepairs is how many changes are tried before other inputs are made up, and
	// maxRestarts how often that is done.
	maxRepairs  = 10
	maxRestarts = 4
)

func (r *run) repairer(subject string, o *schema.Object, c Case) *repairer {
	return &repairer{
		object: o, make: r.generator(subject, -1), again: c.again, dropped: map[string]bool{},
		secret: c.Inputs.Len() > 0 && c.Inputs.Equal(allSecret(c.Inputs)),
	}
}

// next returns other inputs in place of those that were refused at the paths. ok is
// false where there is nothing left to try.
func (r *repairer) next(inputs property.Map, paths []string) (changed property.Map, ok bool) {
	if r.attempts++; r.attempts <= maxRepairs {
		if changed, ok = r.repaired(inputs, paths); ok {
			return changed, true
		}
	}
	if r.again == nil || r.restarts == maxRestarts {
		return inputs, false
	}
	r.restarts++
	r.attempts, r.dropped = 0, map[string]bool{}
	return r.again(r.restarts), true
}

// repaired leaves out an optional property that the inputs are refused for, or gives
// one that they are refused without, or else leaves out any other.
func (r *repairer) repaired(inputs property.Map, paths []string) (property.Map, bool) {
	for _, text := range paths {
		name := firstKey(text)
		p := r.object.Property(name)
		switch {
		case p == nil:
		case inputs.Has(name) && r.optional(p):
			r.dropped[name] = true
			return inputs.Without(name), true
		case !inputs.Has(name) && !r.dropped[name]:
			v := r.make.Property(p)
			if r.secret {
				v = property.Secret(v)
			}
			return inputs.With(name, v), true
		}
	}
	for _, name := range inputs.Keys() {
		if p := r.object.Property(name); p != nil && r.optional(p) {
			r.dropped[name] = true
			return inputs.Without(name), true
		}
	}
	return inputs, false
}

func (r *repairer) optional(p *schema.Property) bool { return !p.Required || p.HasDefault() }

// firstKey is the property that a path leads into, empty where it leads into none.
func firstKey(text string) string {
	path, err := property.ParsePath(text)
	if err != nil || len(path) == 0 {
		return ""
	}
	key, _ := path[0].Key()
	return key
}

func pathsOf(failures []abi.CheckFailure) []string {
	paths := make([]string, len(failures))
	for i, f := range failures {
		paths[i] = f.Path
	}
	return paths
}

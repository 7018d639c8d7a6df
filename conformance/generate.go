package conformance

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// generator returns a generator of values for a case. The same seed, subject, and number give the
// same values, whatever else is tested.
func (r *run) generator(subject string, number int) *fakevalue.Generator {
	h := fnv.New64a()
	h.Write([]byte(subject))
	g := &fakevalue.Generator{
		Random:     rand.New(rand.NewPCG(r.options.Seed, h.Sum64()+uint64(number))),
		References: r.takes(abi.FeaturesResourceReferences),
	}
	g.Optional = func() bool { return g.Random.IntN(2) == 0 }
	return g
}

// casesOf generates cases of an object: required properties, all, a random choice, and secrets.
func (r *run) casesOf(subject string, o *schema.Object) []Case {
	var cases []Case
	for i := range r.options.Generated {
		c := r.caseOf(subject, o, i)
		cases = append(cases, c)
		if len(o.Properties) == 0 {
			return cases // they would all be the same
		}
	}
	return append(cases, secretCase(cases[min(1, len(cases)-1)]))
}

func (r *run) caseOf(subject string, o *schema.Object, number int) Case {
	name := "random"
	switch number {
	case 0:
		name = "minimal"
	case 1:
		name = "complete"
	}
	again := func(attempt int) property.Map {
		g := r.generator(subject, number+attempt*1000)
		if number < 2 {
			g.Optional = func() bool { return number == 1 }
		}
		return g.Object(o)
	}
	return Case{Name: name, Inputs: again(0), again: again}
}

func secretCase(c Case) Case {
	s := Case{Name: "secret", Inputs: allSecret(c.Inputs), written: c.written}
	if c.written {
		s.Name = c.Name + ", in secret"
	}
	if c.again != nil {
		s.again = func(attempt int) property.Map { return allSecret(c.again(attempt)) }
	}
	return s
}

func allSecret(m property.Map) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for name, v := range m.All() {
		entries = append(entries, property.Entry{Key: name, Value: property.Secret(v)})
	}
	return property.NewMap(entries...)
}

// repairer changes generated inputs at the paths that a provider refuses. A schema does not say
// which properties exclude or need each other.
type repairer struct {
	object *schema.Object
	// make generates values, and again whole inputs.
	make  *fakevalue.Generator
	again func(attempt int) property.Map
	// secret is set if all inputs are secret.
	secret bool

	attempts, restarts int
	dropped            map[string]bool
}

const (
	// maxRepairs is how many changes are tried before new inputs are generated. maxRestarts is
	// how often that happens.
	maxRepairs  = 10
	maxRestarts = 4
)

func (r *run) repairer(subject string, o *schema.Object, c Case) *repairer {
	return &repairer{
		object: o, make: r.generator(subject, -1), again: c.again, dropped: map[string]bool{},
		secret: c.Inputs.Len() > 0 && c.Inputs.Equal(allSecret(c.Inputs)),
	}
}

// next returns other inputs in place of inputs that were refused at the paths. ok is false if
// nothing is left to try.
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

// repaired removes a refused optional property, adds a missing one, or removes any optional one.
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

// firstKey returns the first property of a path; empty for none.
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

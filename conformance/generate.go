package conformance

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/fakevalue"
)

// generator makes up values. The same seed, subject, and number of the case give the same
// ones, whatever else is tested.
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

// casesOf makes up cases for the properties of an object: what is required, all that
// there is, some of it, and all of it in secret.
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

// caseOf makes up the case with that number.
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

// secretCase is a case with all of its inputs in secret.
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

package schema

import (
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

const (
	// maxFailures bounds the failures of one check, because a hostile program could otherwise make
	// the answer far larger than its question.
	maxFailures = 100
	// maxListedNames bounds the names that a failure lists if none is near.
	maxListedNames = 12
	// maxTrials bounds the comparisons of values with alternatives of unions in one check. Unions
	// within unions multiply, and a hostile provider controls both the schema and the value.
	maxTrials = 10_000
)

// Check validates inputs and applies defaults. The checked inputs have a value for every property
// with a default, no null properties, and secrets where the schema has them. Unknowns, secrets, and
// outputs stay. A second check changes nothing.
//
// A failure has the path and the reason. With any, the inputs have no meaning.
func (o *Object) Check(inputs property.Map) (property.Map, []abi.CheckFailure) {
	return (&checker{}).run(o, inputs)
}

// CheckConfig is Check for a provider's configuration, whose values often come from a command line:
// text may stand for a bool or number.
func (o *Object) CheckConfig(inputs property.Map) (property.Map, []abi.CheckFailure) {
	return (&checker{coerce: true}).run(o, inputs)
}

// Missing returns the required properties without a value and a default.
func (o *Object) Missing(inputs property.Map) []*Property {
	var missing []*Property
	for i := range o.Properties {
		p := &o.Properties[i]
		if p.Required && !p.HasDefault() && inputs.Get(p.Name).Plain().IsNull() {
			missing = append(missing, p)
		}
	}
	return missing
}

// firstDepth is the initial capacity of paths. Few are longer.
const firstDepth = 4

type checker struct {
	// path is the place of the current value.
	path     property.Path
	failures []abi.CheckFailure
	coerce   bool
	// fromProvider is set for a provider's values, see CheckAnswer.
	fromProvider bool
	// trials counts comparisons with alternatives of unions.
	trials int
}

func (c *checker) run(o *Object, inputs property.Map) (property.Map, []abi.CheckFailure) {
	checked, _ := c.object(o, inputs)
	return checked, c.failures
}

func (c *checker) fail(reason string) {
	if !c.full() {
		c.failures = append(c.failures, abi.CheckFailure{Path: c.path.String(), Reason: reason})
	}
}

// full reports whether no further failure is noted.
func (c *checker) full() bool { return len(c.failures) >= maxFailures }

func (c *checker) enter(s property.Segment) {
	if c.path == nil {
		c.path = make(property.Path, 0, firstDepth)
	}
	c.path = append(c.path, s)
}
func (c *checker) leave() { c.path = c.path[:len(c.path)-1] }

// The methods that follow answer the checked value, and whether it is the very one that
// was given: most often it is, and then nothing is copied.

// object returns the checked object. Like the methods below, it reports whether that is the given
// one: then nothing is copied.
func (c *checker) object(o *Object, given property.Map) (checked property.Map, same bool) {
	entries := given.Entries()
	if c.allFit(o, entries) {
		return given, true
	}
	var changed []property.Entry // those so far; nil while they are the given ones
	for i := range entries {
		name, value := entries[i].Key, &entries[i].Value
		p := o.Property(name)
		if p != nil && c.fits(p, value) {
			if changed != nil {
				changed = append(changed, entries[i])
			}
			continue
		}
		c.enter(property.Key(name))
		entry, keep, same := c.entry(o, p, name, *value)
		c.leave()
		if same && changed == nil {
			continue
		}
		if changed == nil {
			changed = append(make([]property.Entry, 0, len(entries)), entries[:i]...)
		}
		if keep {
			changed = append(changed, entry)
		}
	}
	for i := range o.Properties {
		p := &o.Properties[i]
		if !p.HasDefault() && (!p.Required || c.fromProvider) || !given.Get(p.Name).Plain().IsNull() {
			continue
		}
		if !p.HasDefault() {
			c.enter(property.Key(p.Name))
			c.fail("required property is missing; expected " + p.Type.String())
			c.leave()
			continue
		}
		value := p.Default
		if p.Secret {
			value = property.Secret(value)
		}
		if changed == nil {
			changed = append(make([]property.Entry, 0, len(entries)+1), entries...)
		}
		changed = append(changed, property.Entry{Key: p.Name, Value: value})
	}
	if changed == nil {
		return given, true
	}
	return property.NewMap(changed...), false
}

// allFit recognizes the most frequent inputs: all fit, and none is missing that is required or has a
// default. It does no more, because guests check thousands of inputs, and a jump in a larger
// function takes longer there.
func (c *checker) allFit(o *Object, entries []property.Entry) bool {
	var there uint64 // a bit for each of the first 64 properties that is given
	for i := range entries {
		e := &entries[i]
		at := o.at(e.Key)
		if at < 0 || !c.fits(&o.Properties[at], &e.Value) {
			return false
		}
		there |= 1 << at
	}
	for i := range o.Properties {
		if there&(1<<i) == 0 {
			if p := &o.Properties[i]; i >= 64 || p.HasDefault() || p.Required && !c.fromProvider {
				return false
			}
		}
	}
	return true
}

// plainKinds are the kinds of the values of simple types.
var plainKinds = [...]property.Kind{
	KindBool: property.KindBool, KindInteger: property.KindNumber, KindNumber: property.KindNumber, KindString: property.KindString,
}

// fits recognizes most values: of the property's very type, without parts, and within bounds.
func (c *checker) fits(p *Property, v *property.Value) bool {
	t, given := p.Type, property.KindIn(v)
	if t.Kind >= KindArray {
		kind := property.KindArray
		if t.Kind == KindMap {
			kind = property.KindObject
		}
		if t.Kind > KindMap || given != kind || t.Element.Kind != KindAny {
			return false
		}
	} else if given == property.KindNull || given != plainKinds[t.Kind] {
		return false
	}
	if t.Kind == KindInteger {
		if _, ok := property.IntegerIn(v); !ok {
			return false
		}
	}
	return !p.Secret && (c.fromProvider || p.allows(v))
}

// allows reports whether checker.bounds accepts the value.
func (p *Property) allows(v *property.Value) bool {
	if len(p.OneOf) > 0 {
		one := 0
		for one < len(p.OneOf) && !sameScalar(&p.OneOf[one], v) {
			one++
		}
		if one == len(p.OneOf) {
			return false
		}
	}
	if property.KindIn(&p.Const) != property.KindNull && !sameScalar(&p.Const, v) {
		return false
	}
	f, ok := property.NumberIn(v)
	return !ok || (p.Minimum == nil || f >= *p.Minimum) && (p.Maximum == nil || f <= *p.Maximum)
}

// entry checks one given property. keep is false for one that is left out.
func (c *checker) entry(o *Object, p *Property, name string, value property.Value) (entry property.Entry, keep, same bool) {
	switch {
	case p == nil && c.fromProvider && isReserved(name):
		return property.Entry{Key: name, Value: value}, true, true
	case p == nil:
		if !c.full() {
			c.fail(o.noSuchProperty(name, c.coerce && len(c.path) == 1))
		}
		return entry, false, false
	case value.Plain().IsNull():
		return entry, false, false // it is how some programs say that they do not give a value
	}
	value, same = c.property(p, value)
	return property.Entry{Key: name, Value: value}, true, same
}

func (c *checker) property(p *Property, value property.Value) (checked property.Value, same bool) {
	value, same = c.value(p.Type, value)
	if !c.fromProvider {
		c.bounds(p, value.Plain())
	}
	if o, ok := value.AsOutput(); p.Secret && !value.IsSecret() && !(ok && o.Secret) {
		return property.Secret(value), false
	}
	return value, same
}

// bounds checks the constraints of a property beyond its type.
func (c *checker) bounds(p *Property, v property.Value) {
	if v.IsUnknown() {
		return
	}
	if !p.Const.IsNull() && !sameScalar(&p.Const, &v) {
		c.fail("must be " + values([]property.Value{p.Const}))
	}
	if len(p.OneOf) > 0 {
		c.member(p.OneOf, v)
	}
	f, ok := v.AsNumber()
	if !ok {
		return
	}
	if p.Minimum != nil && !(f >= *p.Minimum) {
		c.fail("must be at least " + strconv.FormatFloat(*p.Minimum, 'f', -1, 64))
	}
	if p.Maximum != nil && !(f <= *p.Maximum) {
		c.fail("must be at most " + strconv.FormatFloat(*p.Maximum, 'f', -1, 64))
	}
}

// noSuchProperty returns the reason why a property, or a key of a provider's configuration, is refused.
func (o *Object) noSuchProperty(name string, config bool) string {
	reason := "no such property"
	if config {
		reason = "no such configuration key"
	}
	if o.Token != "" {
		reason += " in " + o.Token
	}
	names := o.Names()
	if near := Nearest(name, names); near != "" {
		return reason + `; did you mean "` + near + `"?`
	}
	switch {
	case len(names) == 0:
		return reason + "; there are none"
	case len(names) <= maxListedNames:
		return reason + "; there are " + strings.Join(names, ", ")
	}
	return reason
}

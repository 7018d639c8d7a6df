package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

const (
	// maxFailures bounds the failures of one check: nobody reads more, and a hostile
	// program could otherwise make the answer far larger than its question.
	maxFailures = 100
	// maxListedNames bounds the names that a failure lists where none is near.
	maxListedNames = 12
	// maxTrials bounds how often one check compares a value with an alternative of a
	// union. Unions within unions multiply, and a hostile provider answers both the schema
	// and the value.
	maxTrials = 10_000
)

// Check validates inputs and applies defaults. The answer's inputs have a value for
// every property that has a default, lack the properties whose value is null, and
// mark as secret what the schema calls secret; unknowns, secrets, and outputs stay
// what they are. Checked inputs, checked again, are unchanged.
//
// The failures say what is wrong at which path; with any, the inputs mean nothing.
func (o *Object) Check(inputs property.Map) (property.Map, []abi.CheckFailure) {
	return (&checker{}).run(o, inputs)
}

// CheckConfig is Check for a provider's configuration, whose values often come from
// a command line: text is taken for the bool or number that the schema asks for.
func (o *Object) CheckConfig(inputs property.Map) (property.Map, []abi.CheckFailure) {
	return (&checker{coerce: true}).run(o, inputs)
}

// Missing returns the properties that are required and neither given nor defaulted.
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

type checker struct {
	// path is where the value that is being looked at lies.
	path     property.Path
	failures []abi.CheckFailure
	coerce   bool
	// answered says that the values are a provider's: see CheckAnswer.
	answered bool
	// trials counts comparisons with alternatives of unions.
	trials int
}

func (c *checker) run(o *Object, inputs property.Map) (property.Map, []abi.CheckFailure) {
	checked := c.object(o, inputs)
	return checked, c.failures
}

func (c *checker) fail(reason string) {
	if len(c.failures) < maxFailures {
		c.failures = append(c.failures, abi.CheckFailure{Path: c.path.String(), Reason: reason})
	}
}

func (c *checker) enter(s property.Segment) { c.path = append(c.path, s) }
func (c *checker) leave()                   { c.path = c.path[:len(c.path)-1] }

func (c *checker) object(o *Object, given property.Map) property.Map {
	checked := make([]property.Entry, 0, given.Len())
	for name, value := range given.All() {
		p := o.Property(name)
		c.enter(property.Key(name))
		switch {
		case p == nil && c.answered && reserved(name):
			checked = append(checked, property.Entry{Key: name, Value: value})
		case p == nil:
			c.fail(o.noSuchProperty(name))
		case value.Plain().IsNull():
			// Null is how some programs say that they do not give a value.
		default:
			checked = append(checked, property.Entry{Key: name, Value: c.property(p, value)})
		}
		c.leave()
	}
	for i := range o.Properties {
		p := &o.Properties[i]
		if !given.Get(p.Name).Plain().IsNull() {
			continue
		}
		if p.HasDefault() {
			value := p.Default
			if p.Secret {
				value = property.Secret(value)
			}
			checked = append(checked, property.Entry{Key: p.Name, Value: value})
		} else if p.Required && !c.answered {
			c.enter(property.Key(p.Name))
			c.fail("required property is missing; expected " + p.Type.String())
			c.leave()
		}
	}
	return property.NewMap(checked...)
}

func (c *checker) property(p *Property, value property.Value) property.Value {
	value = c.value(p.Type, value)
	if !c.answered {
		c.bounds(p, value.Plain())
	}
	if p.Secret {
		value = property.Secret(value)
	}
	return value
}

// value checks a value of type t and keeps the wrappers around it.
func (c *checker) value(t *Type, v property.Value) property.Value {
	switch v.Kind() {
	case property.KindUnknown:
		return v
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return property.Secret(c.value(t, inner))
	case property.KindOutput:
		o, _ := v.AsOutput()
		o.Value = c.value(t, o.Value)
		return property.OutputOf(o)
	}
	if c.answered && v.IsNull() {
		return v
	}
	if c.coerce {
		v = coerce(t, v)
	}
	switch t.Kind {
	case KindAny:
		return v
	case KindBool:
		return c.kind(t, v, property.KindBool)
	case KindNumber:
		return c.kind(t, v, property.KindNumber)
	case KindString:
		if r, ok := v.AsReference(); ok && !c.answered {
			return r.Text()
		}
		return c.kind(t, v, property.KindString)
	case KindInteger:
		if f, ok := v.AsNumber(); ok && !v.IsInteger() {
			c.fail("expected integer, got " + strconv.FormatFloat(f, 'g', -1, 64))
			return v
		}
		return c.kind(t, v, property.KindNumber)
	case KindArray:
		return c.array(t, v)
	case KindMap:
		return c.dictionary(t, v)
	case KindObject:
		if m, ok := v.AsObject(); ok {
			return property.Object(c.object(t.Object, m))
		}
		return c.mismatch(t, v)
	case KindEnum:
		if c.answered && len(t.Values) > 0 {
			return c.kind(t, v, t.Values[0].Kind())
		}
		return c.member(t.Values, v)
	case KindAsset:
		if v.Kind() == property.KindArchive {
			return v
		}
		return c.kind(t, v, property.KindAsset)
	case KindArchive:
		return c.kind(t, v, property.KindArchive)
	case KindResource:
		return c.reference(t, v)
	case KindUnion:
		return c.union(t, v)
	}
	return v
}

func (c *checker) mismatch(t *Type, v property.Value) property.Value {
	c.fail("expected " + t.String() + ", got " + v.Kind().String())
	return v
}

func (c *checker) kind(t *Type, v property.Value, want property.Kind) property.Value {
	if v.Kind() != want {
		return c.mismatch(t, v)
	}
	return v
}

func (c *checker) array(t *Type, v property.Value) property.Value {
	elements, ok := v.AsArray()
	if !ok {
		return c.mismatch(t, v)
	}
	checked := make([]property.Value, len(elements))
	for i, e := range elements {
		c.enter(property.Index(i))
		checked[i] = c.value(t.Element, e)
		c.leave()
	}
	return property.Array(checked...)
}

func (c *checker) dictionary(t *Type, v property.Value) property.Value {
	m, ok := v.AsObject()
	if !ok {
		return c.mismatch(t, v)
	}
	checked := make([]property.Entry, 0, m.Len())
	for key, e := range m.All() {
		c.enter(property.Key(key))
		checked = append(checked, property.Entry{Key: key, Value: c.value(t.Element, e)})
		c.leave()
	}
	return property.Object(property.NewMap(checked...))
}

// union takes the first alternative that the value fits; a reference is a resource
// before it is the text of its ID. Where it fits none, and was plainly meant for one,
// the failures are those of that one.
func (c *checker) union(t *Type, v property.Value) property.Value {
	if v.Kind() == property.KindResourceReference && slices.ContainsFunc(t.OneOf, func(u *Type) bool { return takesReference(u, v) }) {
		return v
	}
	for _, alternative := range t.OneOf {
		if c.trials++; c.trials > maxTrials {
			c.fail("it has too many unions within unions to be checked")
			return v
		}
		trial := checker{path: slices.Clone(c.path), coerce: c.coerce, answered: c.answered, trials: c.trials}
		checked := trial.value(alternative, v)
		c.trials = trial.trials
		if len(trial.failures) == 0 {
			return checked
		}
	}
	if alternative := t.meant(v); alternative != nil {
		return c.value(alternative, v)
	}
	return c.mismatch(t, v)
}

// meant returns the only alternative of a union that is an object, for a value that is
// one. Of several, it is the one whose constants the value has.
func (t *Type) meant(v property.Value) *Type {
	m, ok := v.AsObject()
	if !ok {
		return nil
	}
	var objects, constant []*Type
	for _, alternative := range t.OneOf {
		if alternative.Kind == KindObject {
			objects = append(objects, alternative)
			if alternative.Object.marks(m) {
				constant = append(constant, alternative)
			}
		}
	}
	switch {
	case len(objects) == 1:
		return objects[0]
	case len(constant) == 1:
		return constant[0]
	}
	return nil
}

// marks reports whether m has the constants of o, of which there are some.
func (o *Object) marks(m property.Map) bool {
	found := false
	for i := range o.Properties {
		if p := &o.Properties[i]; !p.Const.IsNull() {
			if !sameScalar(p.Const, m.Get(p.Name).Plain()) {
				return false
			}
			found = true
		}
	}
	return found
}

func (c *checker) member(allowed []property.Value, v property.Value) property.Value {
	for _, a := range allowed {
		if sameScalar(a, v) {
			return v
		}
	}
	c.fail("must be one of " + values(allowed))
	return v
}

// bounds checks what a property says about its value beyond the type.
func (c *checker) bounds(p *Property, v property.Value) {
	if v.IsUnknown() {
		return
	}
	if !p.Const.IsNull() && !sameScalar(p.Const, v) {
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

// coerce turns text into the bool or number that it is the text of.
func coerce(t *Type, v property.Value) property.Value {
	s, ok := v.AsString()
	if !ok {
		return v
	}
	switch t.Kind {
	case KindBool:
		switch s {
		case "true":
			return property.Bool(true)
		case "false":
			return property.Bool(false)
		}
	case KindInteger, KindNumber:
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return property.Number(f)
		}
	}
	return v
}

func sameScalar(a, b property.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case property.KindBool:
		x, _ := a.AsBool()
		y, _ := b.AsBool()
		return x == y
	case property.KindNumber:
		x, _ := a.AsNumber()
		y, _ := b.AsNumber()
		return x == y
	case property.KindString:
		x, _ := a.AsString()
		y, _ := b.AsString()
		return x == y
	}
	return false
}

// values lists constants as messages show them.
func values(list []property.Value) string {
	var w writer
	for i, v := range list {
		if i > 0 {
			w.buf = append(w.buf, ", "...)
		}
		w.comma = false
		w.value(v)
	}
	return string(w.buf)
}

func (o *Object) noSuchProperty(name string) string {
	reason := "no such property"
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

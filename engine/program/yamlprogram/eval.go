package yamlprogram

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/conversion"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/measure"
)

// evaluator evaluates expressions. It reports what goes wrong, and returns false.
type evaluator struct {
	ctx     context.Context
	c       *compilation
	scope   *scope
	monitor abi.Monitor
	// component is the component that is being made, which gives functions its providers; empty for the program itself.
	component urn.URN
	// static evaluates without a deployment: resources are unknown, and no provider is called.
	static bool
	// budget is charged for all that is evaluated.
	budget *budget.Budget
	// components counts those in YAML.
	components *atomic.Int64
}

// spend charges the budget for work on an expression, and reports whether it may go on.
func (e *evaluator) spend(x expr.Expr, steps int, bytes int64) bool {
	return e.c.report.Spend(x.Node(), steps, bytes)
}

func (e *evaluator) errorf(at expr.Expr, format string, args ...any) {
	position := source.Of(at.Node())
	if a, ok := at.(*expr.Access); ok {
		position = a.Position(e.c.report.File, 0)
	}
	e.c.report.Add(e.c.report.File.Errorf(position, format, args...))
}

// eval evaluates an expression, and bounds the size of its value. In a check, a faulty part is unknown, and the rest is checked.
func (e *evaluator) eval(x expr.Expr) (property.Value, bool) {
	v, ok := e.part(x)
	switch x.(type) {
	case *expr.List, *expr.Object:
		if ok {
			ok = e.bounded(x, measure.Of(v))
		}
	}
	return e.lenient(v, ok)
}

// lenient returns the value with which a check goes on.
func (e *evaluator) lenient(v property.Value, ok bool) (property.Value, bool) {
	if !ok && e.static {
		return property.Unknown, true
	}
	return v, ok
}

// part evaluates an expression inside another one. Lists and objects are not measured, since those around them are.
func (e *evaluator) part(x expr.Expr) (property.Value, bool) {
	// The error is then reported as such, where the budget is spent or the context ends.
	if e.ctx.Err() != nil || !e.spend(x, 1, 0) {
		return property.Null, false
	}
	v, ok := e.evaluate(x)
	switch x.(type) {
	case *expr.Text, *expr.Call, *expr.Invoke:
		if ok {
			m := measure.Of(v)
			ok = e.bounded(x, m) && e.spend(x, 0, m.Bytes())
		}
	}
	return e.lenient(v, ok)
}

func (e *evaluator) evaluate(x expr.Expr) (property.Value, bool) {
	switch x := x.(type) {
	case *expr.Literal:
		return x.Value, true
	case *expr.Text:
		return e.text(x)
	case *expr.Access:
		return e.access(x)
	case *expr.List:
		elements, ok := e.all(x.Elements)
		return property.Array(elements...), ok
	case *expr.Object:
		return e.object(x)
	case *expr.Call:
		return e.call(x)
	case *expr.Invoke:
		return e.invoke(x)
	}
	return property.Null, false
}

// valueBytes is the memory of each element of a list or an object.
const valueBytes = 64

// all evaluates every expression, and so finds the mistakes of each.
func (e *evaluator) all(xs []expr.Expr) ([]property.Value, bool) {
	values, all := make([]property.Value, len(xs)), true
	for i, x := range xs {
		if !e.spend(x, 0, valueBytes) {
			return nil, false
		}
		v, ok := e.part(x)
		values[i], all = v, all && ok
	}
	return values, all
}

// apply calls f with the plain arguments. The result has their provenance, and is unknown if one of
// them is.
func (e *evaluator) apply(args []property.Value, f func(plain []property.Value) (property.Value, bool)) (property.Value, bool) {
	var p derivation.Derivation
	plain, known := make([]property.Value, len(args)), true
	for i, arg := range args {
		v, k := p.Flatten(arg)
		plain[i], known = v, known && k
	}
	if !known {
		return p.Wrap(property.Unknown), true
	}
	v, ok := f(plain)
	return p.Wrap(v), ok
}

// text evaluates all accesses in a text, even if one is unknown.
func (e *evaluator) text(x *expr.Text) (property.Value, bool) {
	var p derivation.Derivation
	var b strings.Builder
	all, known := true, true
	for _, part := range x.Parts {
		b.WriteString(part.Text)
		if part.Access == nil {
			continue
		}
		v, ok := e.part(part.Access)
		all = all && ok
		if v = p.Peel(v); !ok || v.IsUnknown() {
			known = false
			continue
		}
		text, problem := textOf(v)
		if problem != "" {
			e.errorf(part.Access, "%s %s", part.Access, problem)
			all = false
		}
		if b.Len()+len(text) > measure.MaxText {
			e.errorf(part.Access, "%s", tooLarge)
			return property.Null, false
		}
		if !e.spend(part.Access, len(text)/bytesPerStep, 0) { // also if the whole is unknown in the end
			return property.Null, false
		}
		b.WriteString(text)
	}
	if !known {
		return p.Wrap(property.Unknown), all
	}
	return p.Wrap(property.String(b.String())), all
}

func textOf(v property.Value) (text, problem string) {
	switch v.Kind() {
	case property.KindString:
		text, _ = v.AsString()
	case property.KindNumber:
		f, _ := v.AsNumber()
		text = source.FormatNumber(f)
	case property.KindBool:
		text = "false"
		if b, _ := v.AsBool(); b {
			text = "true"
		}
	case property.KindNull:
		problem = "is null, which has no text"
	case property.KindResourceReference:
		problem = "is a resource, which has no text; name one of its properties, such as its id"
	case property.KindArray, property.KindObject:
		problem = "is " + articled(v) + ", which has no text; use fn::toJSON, or fn::join for a list"
	default:
		problem = "is " + articled(v) + ", which has no text"
	}
	return text, problem
}

func (e *evaluator) object(x *expr.Object) (property.Value, bool) {
	var keys derivation.Derivation
	entries := make([]property.Entry, 0, len(x.Entries))
	all, known := true, true
	for _, entry := range x.Entries {
		if !e.spend(entry.Value, 0, valueBytes) {
			return property.Null, false
		}
		k, keyOK := e.part(entry.Key)
		v, ok := e.part(entry.Value)
		if all = all && keyOK && ok; !keyOK || !ok {
			continue
		}
		k = keys.Peel(k)
		if k.IsUnknown() {
			known = false
			keys.Flatten(v)
			continue
		}
		key, problem := textOf(k)
		if problem != "" {
			e.errorf(entry.Key, "%s %s", expr.Describe(entry.Key), problem)
			all = false
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	v := property.Object(property.NewMap(entries...))
	if !known {
		keys.Flatten(v)
		v = property.Unknown
	}
	return keys.Wrap(v), all
}

func (e *evaluator) properties(x *expr.Object) (property.Map, bool) {
	v, ok := e.object(x)
	m, isObject := v.AsObject()
	return m, ok && isObject && e.bounded(x, measure.Of(v))
}

// inputs evaluates the properties of a resource, as its schema has them. Unknown ones in a check are not mistakes, and are not
// returned.
func (e *evaluator) inputs(r *resource) (property.Map, bool) {
	m, ok := e.writtenInputs(r)
	if ok && r.inputs != nil {
		m = conversion.Properties(r.inputs, m)
	}
	return m, ok
}

// arguments evaluates the arguments of a function, as its schema has them.
func (e *evaluator) arguments(x *expr.Invoke, f function) (property.Map, bool) {
	m, ok := e.properties(x.Args)
	if ok && f.schema != nil {
		m = conversion.Properties(&f.schema.Args, m)
	}
	return m, ok
}

func (e *evaluator) writtenInputs(r *resource) (property.Map, bool) {
	if r.computed == nil {
		return e.properties(r.properties)
	}
	v, ok := e.eval(r.computed)
	if !ok {
		return property.Map{}, false
	}
	var p derivation.Derivation
	v = p.Peel(v)
	m, isObject := v.AsObject()
	switch {
	case v.IsUnknown() && e.static:
		return property.Map{}, false
	case v.IsUnknown():
		e.errorf(r.computed, "the names of the properties of %q must be known before the deployment, but they depend on a resource that is not there yet", r.name)
		return property.Map{}, false
	case !isObject:
		e.errorf(r.computed, "the properties of %q must be a mapping, not %s", r.name, articled(v))
		return property.Map{}, false
	}
	return derivation.Map(m, func(_ string, part property.Value) property.Value {
		of := derivation.Derivation{Secret: p.Secret}
		of.Add(p.URNs...)
		part = of.Peel(part)
		return of.Wrap(part)
	}), true
}

func (e *evaluator) access(a *expr.Access) (property.Value, bool) {
	v, ok := e.scope.lookup(a.Name)
	if !ok {
		v, ok = e.c.configValue(a.Name)
	}
	if !ok {
		e.c.unknownName(a)
		return property.Null, false
	}
	if e.static && !e.c.checkAccess(a) {
		return property.Null, false
	}
	if len(a.Path) == 0 {
		return v, true
	}
	if !e.spend(a, len(a.Path), 0) {
		return property.Null, false
	}
	var p derivation.Derivation
	sealed := e.sealedOf(a, p.Peel(v))
	for i, segment := range a.Path {
		v = p.Peel(v)
		if v.IsUnknown() {
			return p.Wrap(v), true
		}
		next, problem := e.step(v, segment)
		if problem != "" {
			at := a.Position(e.c.report.File, i+1)
			e.c.report.Add(e.c.report.File.Errorf(at, "%s %s", prefix(a, i), problem))
			return property.Null, false
		}
		if i > 0 && sealed[a.Path[1:i+1].String()] {
			at := a.Position(e.c.report.File, i+1)
			e.c.report.Add(e.c.report.File.Errorf(at, "%s is secret, and the key of the stack it is from is not at hand", prefix(a, i+1)))
			return property.Null, false
		}
		v = next
	}
	return p.Wrap(p.Peel(v)), true
}

// sealedOf returns the secrets that a reference to a stack has left out, by their paths in its outputs.
func (e *evaluator) sealedOf(a *expr.Access, v property.Value) map[string]bool {
	ref, ok := v.AsReference()
	if !ok || len(a.Path) < 2 {
		return nil
	}
	i := e.scope.instance(ref.URN)
	if i == nil || i.decl.typ != builtin.StackReference {
		return nil
	}
	names, _ := i.state.Get(builtin.SealedOutputNames).AsArray()
	sealed := make(map[string]bool, len(names))
	for _, name := range names {
		text, _ := name.AsString()
		sealed[text] = true
	}
	return sealed
}

func prefix(a *expr.Access, n int) string {
	shorter := *a
	shorter.Path = a.Path[:n]
	return shorter.String()
}

// step goes one segment into a value without wrappers. A missing key is null.
func (e *evaluator) step(v property.Value, segment property.Segment) (_ property.Value, problem string) {
	key, isKey := segment.Key()
	switch v.Kind() {
	case property.KindResourceReference:
		ref, _ := v.AsReference()
		i := e.scope.instance(ref.URN)
		switch {
		case i == nil && isKey:
			return e.referred(ref.URN, key)
		case !isKey:
			return v, "is a resource, which has properties, not elements"
		}
		return i.property(key), ""
	case property.KindObject:
		m, _ := v.AsObject()
		if !isKey {
			return v, "is an object, whose values have keys, not indexes"
		}
		return m.Get(key), ""
	case property.KindArray:
		elements, _ := v.AsArray()
		index, ok := segment.Index()
		switch {
		case !ok:
			return v, "is a list, whose elements have indexes, as in [0]"
		case index >= len(elements):
			return v, "has " + countElements(len(elements)) + ", so there is no element " + source.FormatNumber(float64(index))
		}
		return elements[index], ""
	case property.KindNull:
		return v, "is null, so nothing of it can be named"
	}
	return v, "is " + articled(v) + ", which has no parts"
}

// referred returns a property of a resource that the program does not declare itself: a part of a component.
func (e *evaluator) referred(u, key string) (v property.Value, problem string) {
	if e.static {
		return property.Unknown, ""
	}
	response, err := e.monitor.Invoke(e.ctx, abi.MonitorInvokeRequest{
		Token: builtin.GetResource, Args: property.NewMap(property.Entry{Key: "urn", Value: property.String(u)}),
	})
	if err != nil {
		return v, "is a resource whose properties are not known: " + err.Error()
	}
	state, _ := response.Result.Get("state").AsObject()
	p := derivation.Derivation{URNs: []string{u}}
	switch {
	case response.Unknown:
		v = property.Unknown
	case key == "urn", key == "id":
		v = p.Peel(response.Result.Get(key))
	case state.Has(key):
		v = p.Peel(state.Get(key))
	case e.c.run.DryRun:
		v = property.Unknown
	}
	return p.Wrap(v), ""
}

func countElements(n int) string {
	if n == 1 {
		return "1 element"
	}
	return source.FormatNumber(float64(n)) + " elements"
}

// bounded charges for the parts of a value, and reports whether the program may have it, with an error otherwise.
func (e *evaluator) bounded(x expr.Expr, m measure.Measure) bool {
	switch {
	case m.TooDeep():
		e.errorf(x, "%s", tooDeep)
		return false
	case m.Exceeded():
		e.errorf(x, "%s", tooLarge)
		return false
	}
	return e.spend(x, m.Parts(), 0)
}

var tooDeep = fmt.Sprintf("the value is too large: its parts would be nested deeper than the %d levels that can be passed to a provider", measure.MaxDepth)

var tooLarge = fmt.Sprintf("the value is too large: it would have more than %d parts, or more than %d MiB of text, and a provider takes no more", measure.MaxParts, measure.MaxText>>20)

package yamlprogram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// check evaluates the program without a deployment, as far as literals and configuration go, and
// checks the result against schemas.
func (c *compilation) check(ctx context.Context) {
	e := &evaluator{ctx: ctx, c: c, scope: c.static, static: true, budget: c.budget}
	for _, i := range c.graph.order {
		n := c.graph.nodes[i]
		if n.variable != nil {
			if v, ok := e.eval(n.variable.value); ok {
				c.static.set(n.name, v)
			}
			continue
		}
		c.checkResource(e, n.resource)
	}
	for _, a := range c.actions {
		c.checkAction(e, a)
	}
	c.checkNames()
	for _, o := range c.outputs {
		e.eval(o.value)
	}
	for _, x := range c.required {
		c.checkRequired(e, x)
	}
}

// checkRequired checks the program's required range of Pulumi versions against the version that Husk follows.
func (c *compilation) checkRequired(e *evaluator, x expr.Expr) {
	v, ok := e.eval(x)
	var p derivation.Derivation
	v, known := p.Flatten(v)
	text, isText := v.AsString()
	switch {
	case !ok:
	case !known && c.isForeign(x):
		e.errorf(x, "the required version of Pulumi must be known before the deployment")
	case !known: // of the configuration
	case !isText:
		e.errorf(x, "the required version of Pulumi must be text, not %s", articled(v))
	default:
		if err := program.CheckPulumiVersion(text); err != nil {
			e.errorf(x, "%v", err)
		}
	}
}

func (c *compilation) checkResource(e *evaluator, r *resource) {
	if r.inputs != nil {
		asText(r.properties, r.inputs)
	}
	e.nameOf(r)
	c.checkDeprecations(r)
	inputs, ok := e.inputs(r)
	if ok && r.inputs != nil && r.get == nil {
		var failures []abi.CheckFailure
		if r.isProvider() {
			_, failures = r.inputs.CheckConfig(schemajson.Nested(r.inputs, inputs))
		} else {
			_, failures = r.inputs.Check(r.constants(inputs))
		}
		c.failures(c.withoutMeant(failures, r.properties, r.inputs), r.properties, r.propertiesKey, func(path string) string {
			return "property " + quote(path) + " of " + quote(r.name)
		})
	}
	if r.get != nil {
		if r.get.id != nil {
			e.eval(r.get.id)
		}
		if _, ok := e.properties(r.get.state); ok && r.outputs != nil {
			c.checkState(r)
		}
	}
	e.resourceOptions(r)
	c.checkBindings(r)
}

// checkDeprecations warns of deprecated resources and properties.
func (c *compilation) checkDeprecations(r *resource) {
	if r.schema != nil && r.schema.Deprecation != "" {
		c.warnDeprecated(r.typeNode, r.token, schema.ShortToken(r.token), r.schema.Deprecation)
	}
	if r.inputs != nil {
		c.deprecatedProperties(r.token, quote(r.name), r.properties, r.inputs)
	}
}

// deprecatedProperties warns of the deprecated properties that an object has. called names the resource or function that it
// belongs to.
func (c *compilation) deprecatedProperties(token, called string, object *expr.Object, o *schema.Object) {
	for _, entry := range object.Entries {
		name, _ := entry.Name()
		p := o.Property(name)
		switch {
		case p == nil || c.report.Full():
		case p.Deprecation != "":
			c.warnDeprecated(entry.Key.Node(), token, "property "+quote(name)+" of "+called, p.Deprecation)
		default:
			c.deprecatedParts(token, called, entry.Value, p.Type)
		}
	}
}

func (c *compilation) deprecatedParts(token, called string, x expr.Expr, t *schema.Type) {
	if t == nil {
		return
	}
	switch y := x.(type) {
	case *expr.List:
		for _, e := range y.Elements {
			c.deprecatedParts(token, called, e, t.Element)
		}
	case *expr.Object:
		switch {
		case t.Kind == schema.KindObject && t.Object != nil:
			c.deprecatedProperties(token, called, y, t.Object)
		case t.Kind == schema.KindMap:
			for _, entry := range y.Entries {
				c.deprecatedParts(token, called, entry.Value, t.Element)
			}
		}
	case *expr.Call:
		if y.Function == expr.Secret {
			c.deprecatedParts(token, called, y.Args[0], t)
		}
	}
}

func (c *compilation) warnDeprecated(at *yaml.Node, token, what, why string) {
	c.report.Add(c.deprecation(c.report.File.Errorf(source.Of(at), ""), token, what, why))
}

// deprecation makes a diagnostic the warning that something of a token is deprecated. Providers warn, too: see [Program.Repeats].
func (c *compilation) deprecation(d source.Diagnostic, token, what, why string) source.Diagnostic {
	d.Severity, d.Summary = source.Warning, what+" is deprecated: "+strings.Join(strings.Fields(why), " ")
	c.program.deprecations.Store(deprecated{token, why}, true)
	return d
}

// withoutMeant leaves out that a property is missing if it is there, but misspelt.
func (c *compilation) withoutMeant(failures []abi.CheckFailure, object *expr.Object, o *schema.Object) []abi.CheckFailure {
	meant := map[string]bool{}
	for _, entry := range object.Entries {
		if name, _ := entry.Name(); o.Property(name) == nil {
			meant[c.report.Nearest(name, o.Names)] = true
		}
	}
	return slices.DeleteFunc(failures, func(f abi.CheckFailure) bool {
		_, present := object.Lookup(f.Path)
		return meant[f.Path] && !present
	})
}

// checkState looks for misspelt names in the given state of a resource that is read.
func (c *compilation) checkState(r *resource) {
	for _, entry := range r.get.state.Entries {
		name, _ := entry.Name()
		if r.outputs.Property(name) == nil && (r.inputs == nil || r.inputs.Property(name) == nil) {
			c.report.Errorf(entry.Key.Node(), "property %s of %s: no such property%s",
				quote(name), quote(r.name), c.report.DidYouMean(name, r.outputs.Names))
		}
	}
}

// constants adds the properties that have only one value.
func (r *resource) constants(inputs property.Map) property.Map {
	var added []property.Entry
	for i := range r.inputs.Properties {
		if p := &r.inputs.Properties[i]; !p.Const.IsNull() && !inputs.Has(p.Name) {
			added = append(added, property.Entry{Key: p.Name, Value: p.Const})
		}
	}
	if added == nil {
		return inputs
	}
	return property.NewMap(slices.Concat(inputs.Entries(), added)...)
}

// secrets marks the inputs that are secret by the schema. Those of providers are the engine's.
func (r *resource) secrets(inputs property.Map) property.Map {
	if r.isProvider() || !slices.ContainsFunc(r.inputs.Properties, func(p schema.Property) bool { return p.Secret }) {
		return inputs
	}
	return derivation.Map(inputs, func(name string, v property.Value) property.Value {
		if p := r.inputs.Property(name); p == nil || !p.Secret || v.IsNull() {
			return v
		}
		of := derivation.Derivation{Secret: true}
		v = of.Peel(v)
		return of.Wrap(v)
	})
}

func quote(s string) string { return `"` + s + `"` }

// failures reports refused properties where the program has them.
func (c *compilation) failures(failures []abi.CheckFailure, object *expr.Object, otherwise *yaml.Node, what func(path string) string) {
	for _, f := range failures {
		if c.report.Full() {
			return
		}
		c.report.Errorf(locate(object, f.Path, otherwise), "%s: %s", what(f.Path), f.Reason)
	}
}

func locate(object *expr.Object, path string, otherwise *yaml.Node) *yaml.Node {
	at := otherwise
	parsed, err := property.ParsePath(path)
	if err != nil {
		return at
	}
	var x expr.Expr = object
	for _, segment := range parsed {
		if call, ok := x.(*expr.Call); ok && call.Function == expr.Secret {
			x = call.Args[0]
		}
		switch y := x.(type) {
		case *expr.Object:
			key, _ := segment.Key()
			entry, ok := y.Lookup(key)
			if !ok {
				return at
			}
			at, x = entry.Key.Node(), entry.Value
		case *expr.List:
			i, ok := segment.Index()
			if !ok || i >= len(y.Elements) {
				return at
			}
			x = y.Elements[i]
			at = x.Node()
		default:
			return at
		}
	}
	return at
}

// asText replaces numbers and truth values by their text if the schema asks for text: 1.10 stays
// 1.10.
func asText(x *expr.Object, o *schema.Object) {
	for i, entry := range x.Entries {
		name, _ := entry.Name()
		if p := o.Property(name); p != nil {
			x.Entries[i].Value = valueAsText(entry.Value, p.Type)
		}
	}
}

func valueAsText(x expr.Expr, t *schema.Type) expr.Expr {
	if t == nil {
		return x
	}
	switch y := x.(type) {
	case *expr.Literal:
		if kind := y.Value.Kind(); t.Kind == schema.KindString && (kind == property.KindNumber || kind == property.KindBool) {
			return y.WithValue(property.String(y.Node().Value))
		}
	case *expr.List:
		for i, e := range y.Elements {
			y.Elements[i] = valueAsText(e, t.Element)
		}
	case *expr.Object:
		switch {
		case t.Kind == schema.KindObject && t.Object != nil:
			asText(y, t.Object)
		case t.Kind == schema.KindMap:
			for i, entry := range y.Entries {
				y.Entries[i].Value = valueAsText(entry.Value, t.Element)
			}
		}
	case *expr.Call:
		if y.Function == expr.Secret {
			y.Args[0] = valueAsText(y.Args[0], t)
		}
	}
	return x
}

func (c *compilation) checkAccess(a *expr.Access) bool {
	if a.Name == pulumiName {
		return c.checkPulumi(a)
	}
	if r := c.declared[a.Name]; r != nil {
		return c.checkPropertyOf(r, a)
	}
	i, ok := c.graph.byName[a.Name]
	if !ok || c.graph.nodes[i].variable == nil {
		return true
	}
	return c.checkPath(c.typeOf(c.graph.nodes[i].variable.value), a, 0)
}

// checkPulumi refuses properties that the deployment does not have.
func (c *compilation) checkPulumi(a *expr.Access) bool {
	if len(a.Path) == 0 {
		return true
	}
	name, ok := a.Path[0].Key()
	m, _ := c.pulumi.AsObject()
	if ok && !m.Has(name) {
		d := c.report.File.Errorf(a.Position(c.report.File, 1), "the deployment has no property %q%s", name, c.report.DidYouMean(name, m.Keys))
		c.report.Add(d.With("it has " + strings.Join(m.Keys(), ", ")))
		return false
	}
	return true
}

func (c *compilation) checkPropertyOf(r *resource, a *expr.Access) bool {
	if len(a.Path) == 0 || r.outputs == nil {
		return true
	}
	name, ok := a.Path[0].Key()
	switch {
	case !ok:
		return true
	case name == "urn", name == "id" && !r.isComponent(), name == versionProperty && r.isProvider():
		return c.checkPath(&schema.Type{Kind: schema.KindString}, a, 1)
	}
	if p := r.outputs.Property(name); p != nil {
		return c.checkPath(p.Type, a, 1)
	}
	if c.report.Full() {
		return false
	}
	names := append(r.outputs.Names(), "urn")
	if !r.isComponent() {
		names = append(names, "id")
	}
	near := c.report.DidYouMean(name, func() []string { return names })
	d := c.report.File.Errorf(a.Position(c.report.File, 1), "%q, %s, has no property %q%s", r.name, schema.ShortToken(r.token), name, near)
	if near == "" {
		d.Detail = "it has " + listed(names)
	}
	c.report.Add(d)
	return false
}

// maxListed bounds the names that a message lists.
const maxListed = 100

// listed lists names in a message.
func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// checkPath follows a path from its segment on into a type.
func (c *compilation) checkPath(t *schema.Type, a *expr.Access, from int) bool {
	for i := from; i < len(a.Path); i++ {
		part, problem := c.partOf(t, a.Path[i])
		if problem != "" {
			c.report.Add(c.report.File.Errorf(a.Position(c.report.File, i+1), "%s %s", prefix(a, i), problem))
			return false
		}
		t = part
	}
	return true
}

// partOf returns the type of a part, nil if it is not known. problem says why there is no such part.
func (c *compilation) partOf(t *schema.Type, segment property.Segment) (part *schema.Type, problem string) {
	if t == nil {
		return nil, ""
	}
	key, isKey := segment.Key()
	switch t.Kind {
	case schema.KindObject:
		if t.Object == nil || !isKey {
			return nil, ""
		}
		if p := t.Object.Property(key); p != nil {
			return p.Type, ""
		}
		return nil, "has no property " + quote(key) + c.report.DidYouMean(key, t.Object.Names)
	case schema.KindArray:
		if isKey {
			return nil, "is a list, whose elements have indexes, as in [0]"
		}
		return t.Element, ""
	case schema.KindMap:
		return t.Element, ""
	case schema.KindBool, schema.KindInteger, schema.KindNumber, schema.KindString:
		return nil, "is of type " + t.String() + ", which has no parts"
	}
	return nil, ""
}

// typeOf returns the type of an expression as far as schemas tell it, else nil.
func (c *compilation) typeOf(x expr.Expr) *schema.Type {
	switch x := x.(type) {
	case *expr.Access:
		r := c.declared[x.Name]
		if r == nil || r.outputs == nil || len(x.Path) == 0 {
			return nil
		}
		t := &schema.Type{Kind: schema.KindObject, Object: r.outputs}
		for _, segment := range x.Path {
			t, _ = c.partOf(t, segment) // the check of the access reports mistakes
		}
		return t
	case *expr.Invoke:
		f, ok := c.functions[x]
		if !ok || f.schema == nil {
			return nil
		}
		result := &schema.Type{Kind: schema.KindObject, Object: &f.schema.Result}
		switch returns := f.schema.Returns; {
		case returns == nil:
		case x.Return != "" && f.returnsOne():
			return nil // the only value in the result, whose name is the provider's choice
		default:
			result = returns
		}
		if x.Return == "" {
			return result
		}
		part, _ := c.partOf(result, property.Key(x.Return))
		return part
	}
	return nil
}

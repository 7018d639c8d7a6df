package yamlprogram

import (
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// option is an option of resources whose value is an expression.
type option struct {
	name string
	set  func(o *optionReader, out *abi.ResourceOptions)
}

func newOption[T any](name string, at func(*abi.ResourceOptions) *T, read func(o *optionReader, name string) T) option {
	return option{name, func(o *optionReader, out *abi.ResourceOptions) { *at(out) = read(o, name) }}
}

// valueOptions are the options except parent and the ones in [optionKeys].
var valueOptions = []option{
	newOption("dependsOn", func(o *abi.ResourceOptions) *[]urn.URN { return &o.Dependencies }, (*optionReader).urns),
	newOption("provider", func(o *abi.ResourceOptions) *string { return &o.Provider }, (*optionReader).ownProvider),
	newOption("providers", func(o *abi.ResourceOptions) *[]abi.PackageProvider { return &o.Providers }, (*optionReader).providers),
	newOption("protect", func(o *abi.ResourceOptions) **bool { return &o.Protect }, (*optionReader).boolean),
	newOption("ignoreChanges", func(o *abi.ResourceOptions) *[]string { return &o.IgnoreChanges }, (*optionReader).paths),
	newOption("replaceOnChanges", func(o *abi.ResourceOptions) *[]string { return &o.ReplaceOnChanges }, (*optionReader).paths),
	newOption("deleteBeforeReplace", func(o *abi.ResourceOptions) **bool { return &o.DeleteBeforeReplace }, (*optionReader).boolean),
	newOption("retainOnDelete", func(o *abi.ResourceOptions) **bool { return &o.RetainOnDelete }, (*optionReader).boolean),
	newOption("additionalSecretOutputs", func(o *abi.ResourceOptions) *[]string { return &o.AdditionalSecretOutputs }, (*optionReader).texts),
	newOption("import", func(o *abi.ResourceOptions) *string { return &o.ImportID }, (*optionReader).text),
	newOption("hideDiffs", func(o *abi.ResourceOptions) *[]string { return &o.HideDiffs }, (*optionReader).paths),
	newOption("replaceWith", func(o *abi.ResourceOptions) *[]urn.URN { return &o.ReplaceWith }, (*optionReader).urns),
	newOption("replacementTrigger", func(o *abi.ResourceOptions) **property.Value { return &o.ReplacementTrigger }, (*optionReader).anything),
	newOption("deletedWith", func(o *abi.ResourceOptions) *urn.URN { return &o.DeletedWith }, (*optionReader).urn),
}

// resourceOptions evaluates the options of a resource. parent is empty for the stack.
func (e *evaluator) resourceOptions(r *resource) (out abi.ResourceOptions, parent urn.URN, ok bool) {
	if len(r.options.exprs)+len(r.options.aliases)+len(r.options.actions) == 0 {
		return abi.ResourceOptions{Version: r.options.version}, "", true // as most have, and evaluation takes memory
	}
	return e.evaluatedOptions(r)
}

func (e *evaluator) evaluatedOptions(r *resource) (out abi.ResourceOptions, parent urn.URN, ok bool) {
	o := &optionReader{evaluator: e, resource: r, exprs: r.options.exprs, ok: true}
	out = abi.ResourceOptions{Version: r.options.version, CustomTimeouts: o.timeouts()}
	for _, option := range valueOptions {
		option.set(o, &out)
	}
	for _, b := range r.options.actions {
		if b.action != nil {
			out.Hooks = append(out.Hooks, abi.HookBinding{Kind: b.kind, Names: []string{b.action.name}})
		}
	}
	if e.static {
		o.envVarMappings()
	}
	parent = o.urn("parent")
	out.Aliases = o.computedAliases(o.exprs["aliases"])
	for _, a := range r.options.aliases {
		if a.computed != nil {
			out.Aliases = append(out.Aliases, o.computedAliases(a.computed)...)
			continue
		}
		if a.parent != nil {
			if p := o.resourceOf("the parent of an alias", a.parent); p != nil {
				a.alias.Spec.ParentURN = p.urn
			}
		}
		out.Aliases = append(out.Aliases, a.alias)
	}
	return out, parent, o.ok
}

// envVarMappings evaluates the variables that a provider sees under other names: a key of the option names the granted variable,
// its value the variable that the provider sees. They are the engine's own among the properties of the provider.
func (o *optionReader) envVarMappings() (mappings property.Map) {
	x := o.exprs[envVarMappings]
	if x == nil {
		return mappings
	}
	if o.resource.token != "" && !o.resource.isProvider() {
		o.fail(x, "the option %s is for providers, resources of a type such as %saws", envVarMappings, providers.TypePrefix)
		return mappings
	}
	v, ok := o.value(envVarMappings)
	if !ok {
		return mappings
	}
	m, isObject := v.AsObject()
	if !isObject {
		o.fail(x, "the option %s must be a mapping of environment variables, as in {SOURCE: TARGET}, not %s", envVarMappings, articled(v))
		return mappings
	}
	for source, target := range m.All() {
		text, isText := target.AsString()
		switch {
		case target.IsUnknown():
		case !isText:
			o.fail(x, "the option %s: what %q is mapped to must be text, not %s", envVarMappings, source, articled(target))
		case source == "" || text == "" || strings.ContainsAny(source+text, "=\n\r\x00"):
			o.fail(x, "the option %s: environment variables have names without = and line breaks", envVarMappings)
		}
	}
	return m
}

// optionReader evaluates options, which must be known before the deployment.
type optionReader struct {
	*evaluator
	// resource is nil for a call of a function.
	resource *resource
	exprs    map[string]expr.Expr
	ok       bool
}

func (o *optionReader) fail(at expr.Expr, format string, args ...any) {
	o.errorf(at, format, args...)
	o.ok = false
}

// value evaluates an option. In a check it may be unknown, which is not a mistake.
func (o *optionReader) value(name string) (property.Value, bool) {
	x := o.exprs[name]
	if x == nil {
		return property.Null, false
	}
	v, ok := o.eval(x)
	if !ok {
		o.ok = false
		return property.Null, false
	}
	var p derivation.Derivation
	v, known := p.Flatten(v)
	if p.Ephemeral() {
		o.fail(x, "the option %s must not be ephemeral, because it is recorded", name)
	}
	if !known && !o.static {
		o.fail(x, "the option %s must be known before the deployment, but it depends on a resource that is not there yet", name)
	}
	return v, known && !v.IsNull()
}

// anything evaluates an option that may be any value, and need not be known.
func (o *optionReader) anything(name string) *property.Value {
	x := o.exprs[name]
	if x == nil {
		return nil
	}
	v, ok := o.eval(x)
	if !ok {
		o.ok = false
		return nil
	}
	if (&derivation.Derivation{URNs: v.Dependencies()}).Ephemeral() {
		o.fail(x, "the option %s must not be ephemeral, because it is recorded", name)
	}
	if v = v.Lower(property.KindOutput); v.IsNull() {
		return nil
	}
	return &v
}

func (o *optionReader) boolean(name string) *bool {
	v, ok := o.value(name)
	if !ok {
		return nil
	}
	b, isBool := v.AsBool()
	if !isBool {
		o.fail(o.exprs[name], "the option %s must be true or false", name)
	}
	return &b
}

func (o *optionReader) text(name string) string {
	v, ok := o.value(name)
	if !ok {
		return ""
	}
	s, isString := v.AsString()
	if !isString {
		o.fail(o.exprs[name], "the option %s must be text", name)
	}
	return s
}

func (o *optionReader) texts(name string) []string {
	v, ok := o.value(name)
	if !ok {
		return nil
	}
	elements, isArray := v.AsArray()
	texts := make([]string, 0, len(elements))
	for _, e := range elements {
		s, isString := e.AsString()
		isArray = isArray && isString
		texts = append(texts, s)
	}
	if !isArray {
		o.fail(o.exprs[name], "the option %s must be a list of property names", name)
		return nil
	}
	if name == "additionalSecretOutputs" {
		o.warnOfUnknown(name, texts)
	}
	return texts
}

// warnOfUnknown warns in a check of properties that the resource does not have.
func (o *optionReader) warnOfUnknown(name string, paths []string) {
	if !o.static || o.resource == nil || o.resource.inputs == nil || o.resource.outputs == nil {
		return
	}
	for _, text := range paths {
		path, err := property.ParsePath(text)
		if err != nil || len(path) == 0 {
			continue
		}
		key, ok := path[0].Key()
		if !ok || key == "id" || o.resource.inputs.Property(key) != nil || o.resource.outputs.Property(key) != nil {
			continue
		}
		known := func() []string { return append(o.resource.inputs.Names(), o.resource.outputs.Names()...) }
		o.c.report.Warnf(o.exprs[name].Node(), "the option %s names %q, which %s has not%s", name, key, schema.ShortToken(o.resource.token), o.c.report.DidYouMean(key, known))
	}
}

func (o *optionReader) paths(name string) []string {
	texts := o.texts(name)
	for i, text := range texts {
		path, err := property.ParsePath(text)
		if err != nil {
			o.fail(o.exprs[name], "the option %s: %v", name, err)
			continue
		}
		texts[i] = path.String()
	}
	o.warnOfUnknown(name, texts)
	return texts
}

func (o *optionReader) urn(name string) urn.URN {
	if x := o.exprs[name]; x != nil {
		if i := o.resourceOf("the option "+name, x); i != nil {
			return i.urn
		}
	}
	return ""
}

func (o *optionReader) resourceOf(what string, x expr.Expr) *instance {
	v, ok := o.eval(x)
	if !ok {
		o.ok = false
		return nil
	}
	var p derivation.Derivation
	return o.instance(what, x, p.Peel(v))
}

func (o *optionReader) instance(what string, x expr.Expr, v property.Value) *instance {
	var p derivation.Derivation
	v = p.Peel(v)
	if ref, ok := v.AsReference(); ok {
		if i := o.scope.instance(ref.URN); i != nil {
			return i
		}
	}
	if !v.IsUnknown() || !o.static {
		o.fail(x, "%s must be a resource, as in ${name}", what)
	}
	return nil
}

func (o *optionReader) resources(what string, x expr.Expr) []*instance {
	v, ok := o.eval(x)
	if !ok {
		o.ok = false
		return nil
	}
	var p derivation.Derivation
	v = p.Peel(v)
	elements, isArray := v.AsArray()
	if !isArray {
		elements = []property.Value{v}
	}
	var out []*instance
	for _, e := range elements {
		if i := o.instance(what, x, e); i != nil {
			out = append(out, i)
		}
	}
	return out
}

func (o *optionReader) urns(name string) []urn.URN {
	x := o.exprs[name]
	if x == nil {
		return nil
	}
	var out []urn.URN
	seen := map[urn.URN]bool{}
	for _, i := range o.resources("the option "+name, x) {
		if !seen[i.urn] {
			seen[i.urn] = true
			out = append(out, i.urn)
		}
	}
	return out
}

func (o *optionReader) provider(name string, x expr.Expr) *instance {
	if x == nil {
		return nil
	}
	i := o.resourceOf("the option "+name, x)
	if i != nil && !i.decl.isProvider() {
		o.fail(x, "the option %s must be a provider, a resource of a type such as %saws, but %q is %s", name, providers.TypePrefix, i.decl.name, schema.ShortToken(i.decl.token))
		return nil
	}
	return i
}

func (o *optionReader) ownProvider(name string) string {
	r := o.resource
	p := o.provider(name, o.exprs[name])
	if p == nil {
		return ""
	}
	if served := o.c.served(r.pkg); p.decl.pkg != served && r.pkg != "" && !r.isComponent() {
		o.fail(o.exprs[name], "the provider %q is one of package %q, but the resource belongs to package %q", p.decl.name, p.decl.pkg, served)
	}
	return p.reference()
}

// providers reads the providers of a component: a list, or a mapping of packages to providers.
func (o *optionReader) providers(name string) []abi.PackageProvider {
	x := o.exprs[name]
	if x == nil {
		return nil
	}
	elements := []expr.Expr{x}
	switch x := x.(type) {
	case *expr.List:
		elements = x.Elements
	case *expr.Object:
		elements = nil
		for _, entry := range x.Entries {
			elements = append(elements, entry.Value)
		}
	}
	var out []abi.PackageProvider
	for _, x := range elements {
		if i := o.provider(name, x); i != nil {
			out = append(out, abi.PackageProvider{Package: i.decl.pkg, Reference: i.reference()})
		}
	}
	sorted.By(out, func(a, b abi.PackageProvider) int { return strings.Compare(a.Package, b.Package) })
	return out
}

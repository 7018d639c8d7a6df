package yamlprogram

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// options are a resource's options as they are written; those not given are nil.
type options struct {
	exprs map[string]expr.Expr
	// version is the package's version, empty for any.
	version     string
	versionNode *yaml.Node
	aliases     []alias
	actions     []binding
}

// alias is an earlier name of a resource: a URN, or parts of one.
type alias struct {
	alias  abi.Alias
	parent expr.Expr
	// computed is all of the alias if it is not written out, nil otherwise.
	computed expr.Expr
}

// optionKeys reads the options of one resource after the other by the same keys.
type optionKeys struct {
	report  *source.Report
	keys    []source.Key
	options *options
}

func newOptionKeys(r *source.Report) *optionKeys {
	k := &optionKeys{report: r}
	read := func(f source.Field) bool {
		k.options.exprs[f.Name] = expr.Parse(r, f.Value)
		return true
	}
	k.keys = []source.Key{source.On("parent", read)}
	for _, option := range valueOptions {
		k.keys = append(k.keys, source.On(option.name, read))
	}
	k.keys = append(k.keys,
		source.On("aliases", func(f source.Field) bool {
			if f.Value.Kind == yaml.ScalarNode && !source.IsNull(f.Value) {
				return read(f)
			}
			for _, e := range r.Elements(f.Value, "aliases") {
				k.options.readAlias(r, e)
			}
			return true
		}),
		source.On("actions", func(f source.Field) bool {
			k.options.readActions(r, f.Value)
			return true
		}),
		source.On(customTimeouts, func(f source.Field) bool {
			if f.Value.Kind == yaml.ScalarNode && !source.IsNull(f.Value) {
				return read(f)
			}
			return k.options.readTimeouts(r, f.Value)
		}),
		source.On(envVarMappings, read),
		source.On("version", func(f source.Field) (ok bool) {
			k.options.versionNode = f.Value
			k.options.version, ok = expr.LiteralText(r, f.Value, "the version")
			return ok
		}),
		expr.DownloadURLKey(r, "pluginDownloadURL"), expr.DownloadURLKey(r, "pluginDownloadUrl"))
	return k
}

func (k *optionKeys) read(o *options, n *yaml.Node) {
	o.exprs = map[string]expr.Expr{}
	k.options = o
	k.report.Read(n, "options", k.keys...)
}

const (
	customTimeouts = "customTimeouts"
	envVarMappings = "envVarMappings"
)

// timeouts are the operations that have a timeout.
var timeouts = []struct {
	name string
	at   func(*abi.CustomTimeouts) *float64
}{
	{"create", func(t *abi.CustomTimeouts) *float64 { return &t.Create }},
	{"update", func(t *abi.CustomTimeouts) *float64 { return &t.Update }},
	{"delete", func(t *abi.CustomTimeouts) *float64 { return &t.Delete }},
	{"read", func(t *abi.CustomTimeouts) *float64 { return &t.Read }},
}

// readTimeouts reads {create: 5m, ...}: options with names such as customTimeouts.create.
func (o *options) readTimeouts(r *source.Report, n *yaml.Node) bool {
	var keys []source.Key
	for _, t := range timeouts {
		keys = append(keys, source.On(t.name, func(f source.Field) bool {
			o.exprs[customTimeouts+"."+t.name] = expr.Parse(r, f.Value)
			return true
		}))
	}
	return r.Read(n, customTimeouts, keys...)
}

// readAlias reads a URN, or {name: ..., type: ..., parent: ...}.
func (o *options) readAlias(r *source.Report, n *yaml.Node) {
	if x := expr.Parse(r, n); !isWritten(x) {
		o.aliases = append(o.aliases, alias{computed: x})
		return
	}
	readURN := func(n *yaml.Node, what string) (urn.URN, bool) {
		text, ok := expr.LiteralText(r, n, what)
		if !ok {
			return "", false
		}
		u, err := urn.Parse(text)
		if err != nil {
			d := r.File.Errorf(source.Of(n), "%v", err)
			if n.Kind == yaml.ScalarNode && !strings.HasPrefix(text, "urn:") {
				d.Detail = "for an earlier name of the resource, write {name: " + text + "}"
			}
			r.Add(d)
		}
		return u, err == nil
	}
	if n.Kind == yaml.ScalarNode {
		if u, ok := readURN(n, "an alias"); ok {
			o.aliases = append(o.aliases, alias{alias: abi.Alias{Case: abi.AliasCaseURN, URN: u}})
		}
		return
	}
	a := alias{alias: abi.Alias{Case: abi.AliasCaseSpec}}
	spec := &a.alias.Spec
	r.Read(n, "an alias",
		expr.LiteralKey(r, "name", &spec.Name), expr.LiteralKey(r, "type", &spec.Type),
		expr.LiteralKey(r, "stack", &spec.Stack), expr.LiteralKey(r, "project", &spec.Project),
		expr.Key(r, "parent", &a.parent),
		source.KeyOf("parentUrn", &spec.ParentURN, func(n *yaml.Node) (urn.URN, bool) { return readURN(n, "parentUrn") }),
		r.BoolKey("noParent", &spec.NoParent))
	o.aliases = append(o.aliases, a)
}

// isWritten reports whether an alias is written out, but for its parent.
func isWritten(x expr.Expr) bool {
	o, ok := x.(*expr.Object)
	if !ok {
		switch x.(type) {
		case *expr.Access, *expr.Text, *expr.Call, *expr.Invoke:
			return false
		}
		return true
	}
	return !slices.ContainsFunc(o.Entries, func(e expr.Entry) bool {
		name, ok := e.Name()
		_, literal := e.Value.(*expr.Literal)
		return !ok || !literal && name != "parent"
	})
}

func (o *options) expressions() []expr.Expr {
	var out []expr.Expr
	for _, name := range slices.Sorted(maps.Keys(o.exprs)) {
		out = append(out, o.exprs[name])
	}
	for _, a := range o.aliases {
		for _, x := range []expr.Expr{a.parent, a.computed} {
			if x != nil {
				out = append(out, x)
			}
		}
	}
	return out
}

// calls returns the calls of the actions, each once for each time that it is bound.
func (o *options) calls() []expr.Expr {
	var out []expr.Expr
	for _, b := range o.actions {
		if b.action != nil {
			out = append(out, b.action.call)
		}
	}
	return out
}

// timeouts evaluates customTimeouts: a mapping with expressions in it, or an expression that is one.
func (o *optionReader) timeouts() (out abi.CustomTimeouts) {
	for _, t := range timeouts {
		name := customTimeouts + "." + t.name
		if v, ok := o.value(name); ok {
			*t.at(&out) = o.seconds(name, o.exprs[name], v)
		}
	}
	v, ok := o.value(customTimeouts)
	if !ok {
		return out
	}
	x := o.exprs[customTimeouts]
	m, isObject := v.AsObject()
	if !isObject {
		o.fail(x, "the option %s must be a mapping, not %s", customTimeouts, articled(v))
	}
	m = withoutNulls(m)
	for _, t := range timeouts {
		if m.Has(t.name) {
			*t.at(&out) = o.seconds(customTimeouts+"."+t.name, x, m.Get(t.name))
			m = m.Without(t.name)
		}
	}
	for _, key := range m.Keys() {
		o.fail(x, "the option %s has the key %q; it can have create, update, delete, and read", customTimeouts, key)
	}
	return out
}

func (o *optionReader) seconds(name string, x expr.Expr, v property.Value) float64 {
	text, ok := v.AsString()
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < 0 {
		if l, literal := x.(*expr.Literal); literal { // else it may be a secret
			o.fail(x, "%q is not a duration such as 90s, 5m, or 1h30m", l.Node().Value)
		} else {
			o.fail(x, "the option %s is not a duration such as 90s, 5m, or 1h30m", name)
		}
		return 0
	}
	return d.Seconds()
}

// computedAliases evaluates aliases, or one of them, that are not written out.
func (o *optionReader) computedAliases(x expr.Expr) (out []abi.Alias) {
	if x == nil {
		return nil
	}
	v, ok := o.eval(x)
	if !ok {
		o.ok = false
		return nil
	}
	var p derivation.Derivation
	v, _ = p.Flatten(v) // the ID of a parent need not be known
	if p.Ephemeral() {
		o.fail(x, "the option aliases must not be ephemeral, because it is recorded")
	}
	if v.IsNull() {
		return nil
	}
	elements, isArray := v.AsArray()
	if !isArray {
		elements = []property.Value{v}
	}
	for _, e := range elements {
		if a, ok := o.alias(x, e); ok {
			out = append(out, a)
		}
	}
	return out
}

func (o *optionReader) alias(x expr.Expr, v property.Value) (a abi.Alias, ok bool) {
	if o.unknownAlias(x, v) {
		return a, false
	}
	if text, isText := v.AsString(); isText {
		a.Case = abi.AliasCaseURN
		a.URN, ok = o.aliasURN(x, text)
		return a, ok
	}
	m, isObject := v.AsObject()
	if !isObject {
		o.fail(x, "an alias must be a URN, or a mapping with parts of one, not %s", articled(v))
		return a, false
	}
	a.Case = abi.AliasCaseSpec
	texts := map[string]*string{
		"name": &a.Spec.Name, "type": &a.Spec.Type, "stack": &a.Spec.Stack, "project": &a.Spec.Project,
	}
	ok = true
	for key, part := range withoutNulls(m).All() {
		if o.unknownAlias(x, part) {
			return a, false
		}
		text, isText := part.AsString()
		fits := isText
		switch at := texts[key]; {
		case at != nil:
			*at = text
		case key == "parentUrn":
			if isText {
				a.Spec.ParentURN, fits = o.aliasURN(x, text)
				ok, fits = ok && fits, true
			}
		case key == "parent":
			i := o.instance("the parent of an alias", x, part)
			if fits = true; i != nil {
				a.Spec.ParentURN = i.urn
			}
		case key == "noParent":
			a.Spec.NoParent, fits = part.AsBool()
		default:
			o.fail(x, "an alias has the key %q, which none can have%s", key, source.DidYouMean(key, []string{"name", "type", "stack", "project", "parent", "parentUrn", "noParent"}))
			ok, fits = false, true
		}
		if !fits {
			o.fail(x, "%s of an alias must not be %s", key, articled(part))
			ok = false
		}
	}
	return a, ok
}

// unknownAlias reports whether a value is unknown, which is a mistake, but for in a check.
func (o *optionReader) unknownAlias(x expr.Expr, v property.Value) bool {
	if v.IsUnknown() && !o.static {
		o.fail(x, "the option aliases must be known before the deployment, but it depends on a resource that is not there yet")
	}
	return v.IsUnknown()
}

func (o *optionReader) aliasURN(x expr.Expr, text string) (urn.URN, bool) {
	u, err := urn.Parse(text)
	if err == nil {
		return u, true
	}
	if !strings.HasPrefix(text, "urn:") {
		o.fail(x, "an alias that is text must be a URN; an earlier name is written {name: ...}")
	} else {
		o.fail(x, "an alias is not a URN that a resource can have")
	}
	return "", false
}

func withoutNulls(m property.Map) property.Map {
	entries := slices.Clone(m.Entries())
	return property.SortedMap(slices.DeleteFunc(entries, func(e property.Entry) bool { return e.Value.IsNull() }))
}

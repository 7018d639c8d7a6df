package yamlprogram

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// options are a resource's options as they are written; those not given are nil.
type options struct {
	exprs map[string]expr.Expr
	// version is that of the package, empty for any.
	version     string
	versionNode *yaml.Node
	// timeouts are in seconds.
	timeouts abi.CustomTimeouts
	aliases  []alias
	actions  []binding
}

// alias is an earlier name of a resource: a URN, or parts of one.
type alias struct {
	node   *yaml.Node
	alias  abi.Alias
	parent expr.Expr
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
			for _, e := range r.Elements(f.Value, "aliases") {
				k.options.readAlias(r, e)
			}
			return true
		}),
		source.On("actions", func(f source.Field) bool {
			k.options.readActions(r, f.Value)
			return true
		}),
		source.On("customTimeouts", func(f source.Field) bool {
			k.options.readTimeouts(r, f.Value)
			return true
		}),
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

// readTimeouts reads {create: 5m, ...}.
func (o *options) readTimeouts(r *source.Report, n *yaml.Node) {
	seconds := func(n *yaml.Node) (float64, bool) {
		text, ok := r.Text(n, "a timeout")
		if !ok {
			return 0, false
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			r.Errorf(n, "%q is not a duration such as 90s, 5m, or 1h30m", text)
			return 0, false
		}
		return d.Seconds(), true
	}
	t := &o.timeouts
	r.Read(n, "customTimeouts",
		source.KeyOf("create", &t.Create, seconds), source.KeyOf("update", &t.Update, seconds),
		source.KeyOf("delete", &t.Delete, seconds), source.KeyOf("read", &t.Read, seconds))
}

// readAlias reads a URN, or {name: ..., type: ..., parent: ...}.
func (o *options) readAlias(r *source.Report, n *yaml.Node) {
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
			o.aliases = append(o.aliases, alias{node: n, alias: abi.Alias{Case: abi.AliasCaseURN, URN: u}})
		}
		return
	}
	a := alias{node: n, alias: abi.Alias{Case: abi.AliasCaseSpec}}
	spec := &a.alias.Spec
	r.Read(n, "an alias",
		expr.LiteralKey(r, "name", &spec.Name), expr.LiteralKey(r, "type", &spec.Type),
		expr.LiteralKey(r, "stack", &spec.Stack), expr.LiteralKey(r, "project", &spec.Project),
		expr.Key(r, "parent", &a.parent),
		source.KeyOf("parentUrn", &spec.ParentURN, func(n *yaml.Node) (urn.URN, bool) { return readURN(n, "parentUrn") }),
		r.BoolKey("noParent", &spec.NoParent))
	o.aliases = append(o.aliases, a)
}

func (o *options) expressions() []expr.Expr {
	var out []expr.Expr
	for _, name := range slices.Sorted(maps.Keys(o.exprs)) {
		out = append(out, o.exprs[name])
	}
	for _, a := range o.aliases {
		if a.parent != nil {
			out = append(out, a.parent)
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

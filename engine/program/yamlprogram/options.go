package yamlprogram

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// options are a resource's options as they are written; those not given are nil.
type options struct {
	given map[string]expr.Expr
	// version is that of the package, empty for any.
	version     string
	versionNode *yaml.Node
	// timeouts are in seconds.
	timeouts abi.CustomTimeouts
	aliases  []alias
}

// alias is an earlier name of a resource: a URN, or parts of one.
type alias struct {
	node   *yaml.Node
	alias  abi.Alias
	parent expr.Expr
}

// optionKeys are the options of a resource. Those whose values are expressions
// come first, up to and with deletedWith.
var optionKeys = []string{
	"parent", "dependsOn", "provider", "providers", "protect", "ignoreChanges", "replaceOnChanges",
	"deleteBeforeReplace", "retainOnDelete", "additionalSecretOutputs", "import", "hideDiffs", "replaceWith", "deletedWith",
	"aliases", "customTimeouts", "version",
}

func (o *options) read(r *source.Report, n *yaml.Node) {
	o.given = map[string]expr.Expr{}
	for _, f := range r.Fields(n, "options") {
		switch f.Name {
		case "version":
			o.version, _ = expr.LiteralText(r, f.Value, "the version")
			o.versionNode = f.Value
		case "customTimeouts":
			o.readTimeouts(r, f.Value)
		case "aliases":
			for _, e := range r.Elements(f.Value, "aliases") {
				o.readAlias(r, e)
			}
		case "pluginDownloadURL", "pluginDownloadUrl":
			r.Warnf(f.Key, "%s is not read: providers are listed in plugins.providers", f.Name)
		default:
			if !slices.Contains(optionKeys, f.Name) {
				r.Unknown(f, "options", optionKeys)
				continue
			}
			o.given[f.Name] = expr.Parse(r, f.Value)
		}
	}
}

// readTimeouts reads {create: 5m, ...}.
func (o *options) readTimeouts(r *source.Report, n *yaml.Node) {
	for _, f := range r.Fields(n, "customTimeouts") {
		var seconds *float64
		switch f.Name {
		case "create":
			seconds = &o.timeouts.Create
		case "update":
			seconds = &o.timeouts.Update
		case "delete":
			seconds = &o.timeouts.Delete
		case "read":
			seconds = &o.timeouts.Read
		default:
			r.Unknown(f, "customTimeouts", []string{"create", "update", "delete", "read"})
			continue
		}
		text, ok := r.Text(f.Value, "a timeout")
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			r.Errorf(f.Value, "%q is not a duration such as 90s, 5m, or 1h30m", text)
			continue
		}
		*seconds = d.Seconds()
	}
}

var aliasKeys = []string{"name", "type", "stack", "project", "parent", "parentUrn", "noParent"}

// readAlias reads a URN, or {name: ..., type: ..., parent: ...}.
func (o *options) readAlias(r *source.Report, n *yaml.Node) {
	a := alias{node: n}
	if n.Kind == yaml.ScalarNode {
		text, ok := expr.LiteralText(r, n, "an alias")
		if !ok {
			return
		}
		u, err := urn.Parse(text)
		if err != nil {
			r.Errorf(n, "%v", err)
			return
		}
		a.alias = abi.Alias{Case: abi.AliasCaseURN, URN: u}
		o.aliases = append(o.aliases, a)
		return
	}
	spec := abi.AliasSpec{}
	for _, f := range r.Fields(n, "an alias") {
		var text *string
		switch f.Name {
		case "name":
			text = &spec.Name
		case "type":
			text = &spec.Type
		case "stack":
			text = &spec.Stack
		case "project":
			text = &spec.Project
		case "parent":
			a.parent = expr.Parse(r, f.Value)
			continue
		case "parentUrn":
			if written, ok := expr.LiteralText(r, f.Value, "parentUrn"); ok {
				u, err := urn.Parse(written)
				if err != nil {
					r.Errorf(f.Value, "%v", err)
				}
				spec.ParentURN = u
			}
			continue
		case "noParent":
			spec.NoParent, _ = r.Bool(f.Value, "noParent")
			continue
		default:
			r.Unknown(f, "an alias", aliasKeys)
			continue
		}
		*text, _ = expr.LiteralText(r, f.Value, f.Name)
	}
	a.alias = abi.Alias{Case: abi.AliasCaseSpec, Spec: spec}
	o.aliases = append(o.aliases, a)
}

// expressions returns every expression among the options.
func (o *options) expressions() []expr.Expr {
	var out []expr.Expr
	for _, name := range optionKeys {
		if e := o.given[name]; e != nil {
			out = append(out, e)
		}
	}
	for _, a := range o.aliases {
		if a.parent != nil {
			out = append(out, a.parent)
		}
	}
	return out
}

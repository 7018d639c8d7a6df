package yamlprogram

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

type template struct {
	report *source.Report
	// required are the ranges of Pulumi's versions that the program is for.
	required  []expr.Expr
	resources []*resource
	actions   []*action
	variables []*variable
	outputs   []*output
}

type resource struct {
	// name is its name in the program, logicalName in the URN.
	name, logicalName string
	// nameExpr computes the name of a component's resource, nil if it is not computed.
	nameExpr expr.Expr
	key      *yaml.Node
	// typ is the type as it is written, empty if it is missing.
	typ             string
	typeNode        *yaml.Node
	defaultProvider bool
	properties      *expr.Object
	propertiesKey   *yaml.Node
	// computed is the expression that the properties are, nil if they are written out.
	computed expr.Expr
	// get reads an existing resource instead of managing one; nil otherwise.
	get     *get
	options options

	// The following fields come from the package's schema; see compilation.resolve.

	// token is the full type token.
	token string
	pkg   string
	// packageVersion is empty if the package has no schema.
	packageVersion string
	// providerVersion is the version of the package that a provider serves, empty if it is unknown.
	providerVersion string
	// schema is nil for providers, and where the package has no schema.
	schema *schema.Resource
	// component is the compiled component in YAML, nil for other resources.
	component *compilation
	// replaceOnChanges are the properties whose changes replace the resource because its schema says so.
	replaceOnChanges []string
	// inputs and outputs are nil if nothing is known about them.
	inputs, outputs *schema.Object
}

type get struct {
	key   *yaml.Node
	id    expr.Expr
	state *expr.Object
}

func (r *resource) isProvider() bool { return providedPackage(r.typ) != "" }

func (r *resource) isComponent() bool { return r.schema != nil && r.schema.Component }

type variable struct {
	name  string
	key   *yaml.Node
	value expr.Expr
}

type output struct {
	name  string
	key   *yaml.Node
	value expr.Expr
}

var resourceKeys = []string{"type", "name", "defaultProvider", "properties", "options", "get"}

func readTemplate(r *source.Report, t program.Template, inComponent bool) *template {
	out := &template{report: r}
	if t.Pulumi != nil {
		read := func(f source.Field) bool {
			out.required = append(out.required, expr.Parse(r, f.Value))
			return true
		}
		r.Read(t.Pulumi, "pulumi", source.On("requiredVersion", read), source.On("requiredPulumiVersion", read))
	}
	if t.Variables != nil {
		for _, f := range r.Fields(t.Variables, "variables") {
			out.variables = append(out.variables, &variable{f.Name, f.Key, expr.Parse(r, f.Value)})
		}
	}
	if t.Actions != nil {
		for _, f := range r.Fields(t.Actions, "actions") {
			if call := expr.ParseAction(r, f); call != nil {
				out.actions = append(out.actions, &action{f.Name, f.Key, call})
			}
		}
	}
	if t.Resources != nil {
		options := newOptionKeys(r)
		for _, f := range r.Fields(t.Resources, "resources") {
			out.resources = append(out.resources, readResource(r, f, options, inComponent))
		}
	}
	if t.Outputs != nil {
		for _, f := range r.Fields(t.Outputs, "outputs") {
			out.outputs = append(out.outputs, &output{f.Name, f.Key, expr.Parse(r, f.Value)})
		}
	}
	return out
}

func readResource(r *source.Report, f source.Field, options *optionKeys, inComponent bool) *resource {
	out := &resource{
		name: f.Name, logicalName: f.Name, key: f.Key, typeNode: f.Key, propertiesKey: f.Key,
		properties: &expr.Object{},
	}
	typed := false
	for _, g := range corrected(r, f.Value) {
		switch g.Name {
		case "type":
			out.typ, _ = expr.LiteralText(r, g.Value, "the type")
			out.typeNode, typed = g.Value, true
		case "name":
			if inComponent && strings.Contains(g.Value.Value, "${") {
				out.nameExpr = expr.Parse(r, g.Value)
			} else if name, ok := expr.LiteralText(r, g.Value, "the name"); ok && name != "" {
				out.logicalName = name
			}
		case "defaultProvider":
			out.defaultProvider, _ = r.Bool(g.Value, "defaultProvider")
		case "properties":
			if out.propertiesKey = g.Key; g.Value.Kind == yaml.ScalarNode && strings.Contains(g.Value.Value, "${") {
				out.computed = expr.Parse(r, g.Value)
			} else {
				out.properties = expr.ParseObject(r, g.Value, "properties")
			}
		case "options":
			options.read(&out.options, g.Value)
		case "get":
			out.get = readGet(r, g)
		}
	}
	if !typed && (f.Value.Kind == yaml.MappingNode || source.IsNull(f.Value)) {
		r.Add(r.File.Errorf(source.Of(f.Key), "the resource %q has no type", f.Name).
			With("add a line such as \"type: random:RandomPet\""))
	}
	if out.get != nil && (len(out.properties.Entries) > 0 || out.computed != nil) {
		r.Errorf(out.propertiesKey, "a resource that is read with get has no properties; put its known properties in get.state")
	}
	return out
}

// corrected returns the fields of a resource. A misspelt key is reported, and then taken as meant.
func corrected(r *source.Report, n *yaml.Node) []source.Field {
	fields := r.KnownFields(n, "a resource", resourceKeys)
	has := map[string]bool{}
	for _, f := range fields {
		has[f.Name] = true
	}
	for i, f := range fields {
		if slices.Contains(resourceKeys, f.Name) {
			continue
		}
		r.Unknown(f, "a resource", resourceKeys)
		if near := schema.Nearest(f.Name, resourceKeys); near != "" && !has[near] {
			fields[i].Name, has[near] = near, true
		}
	}
	return fields
}

func readGet(r *source.Report, f source.Field) *get {
	out := &get{key: f.Key, state: &expr.Object{}}
	r.Read(f.Value, "get", expr.Key(r, "id", &out.id),
		source.KeyOf("state", &out.state, func(n *yaml.Node) (*expr.Object, bool) { return expr.ParseObject(r, n, "get.state"), true }))
	if out.id == nil {
		r.Errorf(f.Key, "get has no id: it needs the ID of the resource to read")
	}
	return out
}

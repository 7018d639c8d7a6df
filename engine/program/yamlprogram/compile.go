package yamlprogram

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

type compilation struct {
	*template
	program *Program
	run     abi.RunContext
	config  *config
	// pulumi is the object of the name pulumi.
	pulumi property.Value
	graph  *graph
	// declared holds the resources by name, static what names stand for in a check.
	declared map[string]*resource
	static   *scope
	packages packages
	// builtins is the schema of the package that the engine itself implements.
	builtins *schema.Package
	// functions are the provider functions that the program calls and that could be resolved.
	functions map[*expr.Invoke]function
	// defaults are the default providers of packages, by name.
	defaults map[string]*resource
	// foreign says of each variable whether it is foreign.
	foreign map[string]bool
	// component is the compiled component, nil for the program itself. components are the ones that the program uses, by type.
	component  *program.Component
	components map[string]*compilation
	// ownSchema is the component's schema, once something has asked for it. named is its first resource with an explicit name,
	// once it was searched for.
	ownSchema     *schema.Resource
	named         *resource
	searchedNamed bool
	// actionNames are the names of the actions.
	actionNames map[string]bool
	// doubtful are warnings about the stack's configuration. The providers have the last word on them.
	doubtful source.Diagnostics
	// budget is the budget of the run, or of the check.
	budget *budget.Budget
	// dir is where relative paths of files begin.
	dir string
}

// pulumiName is the name of the deployment in programs: ${pulumi.stack}.
const pulumiName = "pulumi"

func (p *Program) compile(ctx context.Context, run abi.RunContext, unknown []string) (*compilation, source.Diagnostics, error) {
	c := p.compilationOf(p.project.Template, run, p.project.ProgramDir, packages{
		schemas: p.schemas, fetched: map[packageKey]func() (*schema.Package, error){}, loaded: map[packageKey]loadedPackage{}, components: map[string][]string{}, refs: map[string]string{},
		replacing: map[string][]string{},
	}, budget.New(ctx, p.limits), nil)
	c.components = map[string]*compilation{}
	if p.project.Runtime != program.RuntimeYAML {
		c.report.Add(p.project.File.Errorf(source.Position{}, "the project's runtime is %q, but only programs in YAML can be checked without running them", p.project.Runtime).
			With("husk preview runs the program; if it is written in YAML, set \"runtime: yaml\""))
		return c, c.report.Diagnostics(), nil
	}
	var problems source.Diagnostics
	c.config, problems = readConfig(p.project, run, unknown)
	c.report.Add(problems...)
	c.findComponents()
	c.fetch(ctx)
	for _, used := range c.inOrder() {
		used.analyze(ctx)
		c.report.Add(used.report.Diagnostics()...)
	}
	c.analyze(ctx)
	c.checkSettings()
	return c, onlyExceeded(c.report.Diagnostics()), ctx.Err()
}

// onlyExceeded leaves out what followed from the end of the budget.
func onlyExceeded(ds source.Diagnostics) source.Diagnostics {
	exceeded := func(d source.Diagnostic) bool {
		_, is := errors.AsType[*budget.ExceededError](d.Cause)
		return is
	}
	if i := slices.IndexFunc(ds, exceeded); i >= 0 {
		return ds[i : i+1]
	}
	return ds
}

// compilationOf begins the compilation of a program or component.
func (p *Program) compilationOf(t program.Template, run abi.RunContext, dir string, shared packages, b *budget.Budget, component *program.Component) *compilation {
	read := readTemplate(&source.Report{File: t.File, Budget: b}, t, component != nil)
	return &compilation{
		template: read,
		program:  p, run: run, dir: dir, budget: b, component: component,
		declared: make(map[string]*resource, len(read.resources)), static: newScope(2 * len(read.resources)), // each has two URNs there
		packages:  shared,
		builtins:  builtin.Schema(),
		functions: map[*expr.Invoke]function{}, defaults: map[string]*resource{},
		pulumi: property.Object(property.NewMap(
			property.Entry{Key: "project", Value: property.String(run.Project)},
			property.Entry{Key: "stack", Value: property.String(run.Stack)},
			property.Entry{Key: "organization", Value: property.String(run.Organization)},
			property.Entry{Key: "cwd", Value: property.String(dir)},
			property.Entry{Key: "rootDirectory", Value: property.String(p.project.Dir)},
		)),
	}
}

// analyze resolves what the template names, and checks it. The packages are fetched, and the components that it uses are
// analyzed.
func (c *compilation) analyze(ctx context.Context) {
	c.claimNames()
	for _, r := range c.resources {
		c.resolve(ctx, r)
		if r.token != "" { // references to it are checked against the requested properties
			c.static.setInstance(&instance{decl: r, urn: urn.New(c.run.Stack, c.run.Project, "", r.token, r.name)})
		}
	}
	for _, r := range c.resources {
		c.defaultProvider(r)
	}
	c.graph = newGraph(c)
	c.findForeign()
	c.check(ctx)
}

// claimNames gives each name its meaning, and reports names that have two.
func (c *compilation) claimNames() {
	c.static.set(pulumiName, c.pulumi)
	type first struct {
		kind string
		line int
	}
	seen := make(map[string]first, len(c.resources))
	if c.component != nil {
		for _, in := range c.component.Inputs {
			seen[in.Name] = first{"input", in.Position.Line}
			c.static.set(in.Name, property.Unknown)
		}
	} else {
		for _, d := range c.program.project.Config {
			seen[d.Name] = first{"configuration key", d.Position.Line}
		}
	}
	claim := func(kind, name string, at source.Position) bool {
		if name == pulumiName {
			c.report.Add(c.report.File.Errorf(at, "a %s cannot have the name %q, which stands for the deployment itself", kind, name))
			return false
		}
		if earlier, taken := seen[name]; taken {
			c.report.Add(c.report.File.Errorf(at, "the %s %q has the same name as the %s on line %d", kind, name, earlier.kind, earlier.line))
			return false
		}
		seen[name] = first{kind, at.Line}
		return true
	}
	resources, variables := c.resources[:0:0], c.variables[:0:0]
	for _, r := range c.resources {
		if !claim("resource", r.name, source.Of(r.key)) {
			continue
		}
		resources = append(resources, r)
		c.declared[r.name] = r
		c.static.setInstance(&instance{decl: r, urn: urn.URN("resource:" + r.name)})
	}
	for _, v := range c.variables {
		if !claim("variable", v.name, source.Of(v.key)) {
			continue
		}
		variables = append(variables, v)
		c.static.set(v.name, property.Unknown)
	}
	actions := map[string]*action{}
	c.actions = slices.DeleteFunc(c.actions, func(a *action) bool {
		claimed := claim("action", a.name, source.Of(a.key))
		if claimed {
			actions[a.name] = a
		}
		return !claimed
	})
	c.actionNames = make(map[string]bool, len(c.actions))
	for _, a := range c.actions {
		c.actionNames[a.name] = true
	}
	c.resources, c.variables = resources, variables
	c.bind(actions)
}

func (c *compilation) unknownName(a *expr.Access) {
	if c.report.Full() {
		return
	}
	if c.actionNames[a.Name] {
		c.report.Add(c.report.File.Errorf(a.Position(c.report.File, 0),
			"%q is an action, which has no value: name it in the option actions of a resource", a.Name))
		return
	}
	kinds := "resource, variable, or configuration key"
	if c.component != nil {
		kinds = "resource, variable, or input of the component"
	}
	near := c.report.DidYouMean(a.Name, c.names)
	c.report.Add(c.report.File.Errorf(a.Position(c.report.File, 0),
		"there is no %s %q%s", kinds, a.Name, near))
}

// names returns all names that expressions can begin with.
func (c *compilation) names() (known []string) {
	for _, r := range c.resources {
		known = append(known, r.name)
	}
	for _, v := range c.variables {
		known = append(known, v.name)
	}
	if c.component != nil {
		for _, in := range c.component.Inputs {
			known = append(known, in.Name)
		}
	}
	return append(append(known, c.config.names()...), pulumiName)
}

// defaultProvider notes a provider that is its package's default.
func (c *compilation) defaultProvider(r *resource) {
	switch earlier := c.defaults[r.pkg]; {
	case !r.defaultProvider:
	case !r.isProvider():
		c.report.Errorf(r.key, "defaultProvider is for providers, resources of a type such as %saws", providers.TypePrefix)
	case earlier != nil:
		c.report.Errorf(r.key, "the package %q has two default providers; the first is %q", r.pkg, earlier.name)
	default:
		c.defaults[r.pkg] = r
	}
}

type config struct {
	project string
	// byKey has the values by full name, byName by the names that the program declares.
	byKey, byName map[string]property.Value
}

// readConfig reads the configuration of a run as the project declares it. unknown are keys whose values are not known.
func readConfig(project *program.Project, run abi.RunContext, unknown []string) (*config, source.Diagnostics) {
	c := &config{project: run.Project, byKey: map[string]property.Value{}, byName: map[string]property.Value{}}
	types := map[string]program.ConfigType{}
	for _, d := range project.Config {
		types[d.Key] = d.Type
	}
	problems := map[string]error{}
	for _, entry := range run.Config {
		v, err := types[entry.Key].Parse(entry.Value)
		if err != nil {
			problems[entry.Key] = err
		}
		if entry.Secret {
			v = property.Secret(v)
		}
		c.byKey[entry.Key] = v
	}
	for _, key := range unknown {
		c.byKey[key] = property.Unknown
	}
	var ds source.Diagnostics
	for _, d := range project.Config {
		v, ok := c.byKey[d.Key]
		problem := problems[d.Key]
		switch {
		case !ok && d.Default.IsNull():
			ds, v = append(ds, d.Missing(run.Project)), property.Unknown // so that its uses are not reported as well
		case problem != nil:
			ds, v = append(ds, d.Unusable(run.Project, problem)), property.Unknown
		case !ok:
			v = d.Default
		}
		if d.Secret {
			v = property.Secret(v)
		}
		c.byName[d.Name], c.byKey[d.Key] = v, v
	}
	return c, ds
}

// configValue returns the value of a key that the program declares or the stack sets.
func (c *compilation) configValue(name string) (property.Value, bool) {
	if v, ok := c.config.byName[name]; ok {
		return v, true
	}
	if !strings.Contains(name, ":") {
		name = c.config.project + ":" + name
	}
	v, ok := c.config.byKey[name]
	return v, ok
}

func (c *config) names() []string {
	var names []string
	for name := range c.byName {
		names = append(names, name)
	}
	for key := range c.byKey {
		names = append(names, strings.TrimPrefix(key, c.project+":"))
	}
	return names
}

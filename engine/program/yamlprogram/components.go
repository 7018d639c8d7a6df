package yamlprogram

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// findComponents begins the compilation of the project's own components in YAML, and of used components of packages.
func (c *compilation) findComponents() {
	c.findUsed(nil)
	project := c.program.project
	for i := range project.Components {
		if own := &project.Components[i]; own.Package == project.Name {
			c.begin(own, nil)
		}
	}
}

// findUsed begins the compilation of the components that c uses. above are the types around c.
func (c *compilation) findUsed(above []string) {
	if len(above) > maxComponentDepth {
		c.report.Add(c.report.File.Errorf(c.component.Position, "components are made of each other deeper than %d levels", maxComponentDepth))
		c.resources = nil
		return
	}
	for _, r := range c.resources {
		declared := c.program.project.Component(r.typ)
		if declared == nil {
			continue
		}
		token := declared.Token()
		if slices.Contains(above, token) {
			c.report.Add(c.report.File.Errorf(source.Of(r.typeNode), "the component %q is made of itself: %s", declared.Name,
				strings.Join(append(above[slices.Index(above, token):], token), " -> ")).
				With("take one of these out"))
			r.typ = "" // it is said
			continue
		}
		c.begin(declared, above)
	}
}

func (c *compilation) begin(declared *program.Component, above []string) {
	token := declared.Token()
	if c.components[token] != nil {
		return
	}
	inner := c.program.compilationOf(declared.Template, c.run, declared.Dir, c.packages, c.budget, declared)
	inner.components = c.components
	inner.config = &config{project: c.run.Project}
	inner.findUsed(append(slices.Clone(above), token))
	c.components[token] = inner
}

// inOrder returns the components that are used, sorted by type.
func (c *compilation) inOrder() []*compilation {
	var all []*compilation
	for _, token := range slices.Sorted(maps.Keys(c.components)) {
		all = append(all, c.components[token])
	}
	return all
}

// resolveComponent gives a resource the schema of a component in YAML, if its type is one.
func (c *compilation) resolveComponent(r *resource) bool {
	declared := c.program.project.Component(r.typ)
	if declared == nil {
		return false
	}
	s := c.components[declared.Token()].schemaOfComponent()
	r.schema, r.token, r.pkg, r.packageVersion = s, s.Token, declared.Package, declared.Version
	r.inputs, r.outputs, r.component = &s.Inputs, &s.Outputs, c.components[s.Token]
	if v := r.options.version; v != "" && declared.Version != "" && !program.Compatible(v, declared.Version) {
		c.report.Errorf(r.options.versionNode, "version %s is wanted, and the package %q has version %s, which is not compatible with it", v, r.pkg, declared.Version)
	}
	if r.get != nil {
		c.report.Errorf(r.get.key, "%q is a component, which cannot be read with get: it has no ID", r.name)
	}
	return true
}

// schemaOfComponent returns the schema of the component that is compiled.
func (c *compilation) schemaOfComponent() *schema.Resource {
	if c.ownSchema != nil {
		return c.ownSchema
	}
	s := &schema.Resource{Token: c.component.Token(), Component: true}
	for _, in := range c.component.Inputs {
		p := schema.Property{Name: in.Name, Type: in.Type.Schema(), Required: in.Default.IsNull(), Secret: in.Secret}
		s.Inputs.Properties = append(s.Inputs.Properties, p)
	}
	for _, o := range c.outputs {
		s.Outputs.Properties = append(s.Outputs.Properties, schema.Property{Name: o.name, Type: &schema.Type{}})
	}
	byName := func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) }
	sorted.By(s.Inputs.Properties, byName)
	sorted.By(s.Outputs.Properties, byName)
	c.ownSchema = s
	return s
}

// unknownComponent reports a type of a package of components that has none of it. ok is false for other packages.
func (c *compilation) unknownComponent(r *resource, pkg string) (ok bool) {
	if !c.program.project.HasComponents(pkg) {
		return false
	}
	listed := slices.ContainsFunc(c.program.project.Providers, func(p program.ProviderPlugin) bool { return p.Name == pkg })
	if listed {
		return false
	}
	known, ok := c.packages.components[pkg]
	if !ok {
		known = c.program.project.ComponentsOf(pkg)
		c.packages.components[pkg] = known
	}
	near := c.report.Nearest(r.typ, func() []string { return known })
	c.report.Add(c.unknownToken("component", r.typ, r.typeNode, near, known))
	return true
}

// maxComponentDepth is how deep components can be made of components: each level is a part of the URNs below it.
const maxComponentDepth = 100

// maxComponents bounds the components of one run: components that consist of two others double with every level.
const maxComponents = 10_000

// registerComponent registers a component in YAML, and its resources.
func (d *deployment) registerComponent(r *resource, name string, inputs property.Map, options abi.ResourceOptions, parent urn.URN) status {
	if options.Provider != "" { // it is meant for the component's resources
		pkg := providers.PackageOfReference(options.Provider)
		options.Providers = append(options.Providers, abi.PackageProvider{Package: pkg, Reference: options.Provider})
		options.Provider = ""
	}
	options.Version, options.PackageRef = "", "" // no provider serves it
	checked, failures := r.inputs.Check(inputs)
	if len(failures) > 0 { // only computed ones come here
		d.c.failures(failures, r.properties, r.propertiesKey, func(path string) string { return "property " + quote(path) + " of " + quote(r.name) })
		return failed
	}
	if d.components.Add(1) > maxComponents {
		d.errorf(r.properties, "the program makes more than %d components", maxComponents)
		return failed
	}
	if !d.holds(r, property.Map{}, nil, parent) {
		return failed
	}
	response, err := d.monitor.RegisterResource(d.ctx, abi.RegisterResourceRequest{
		Type: r.token, Name: name, Parent: parent, Options: options, SourcePosition: d.position(r),
	})
	if err != nil {
		d.refused(r, err)
		return failed
	}
	inner := d.within(r.component, response.URN)
	for _, in := range r.component.component.Inputs {
		v := checked.Get(in.Name)
		if (&derivation.Derivation{}).Peel(v).IsNull() {
			v = in.Default
			if in.Secret {
				v = property.Secret(v)
			}
		}
		inner.scope.set(in.Name, v)
	}
	inner.runAll()
	outputs := inner.outputs()
	if ds := inner.c.report.Diagnostics(); len(ds) > 0 {
		d.c.report.Add(ds...)
		return failed
	}
	if d.ctx.Err() != nil {
		return failed
	}
	i := &instance{decl: r, urn: response.URN, state: outputs, complete: outputs.Len() == len(inner.c.outputs)}
	if err := d.monitor.RegisterOutputs(d.ctx, abi.RegisterOutputsRequest{URN: response.URN, Outputs: outputs.Lower(property.KindOutput)}); err != nil {
		d.refused(r, fmt.Errorf("register the outputs of the component: %w", err))
		return failed
	}
	d.scope.setInstance(i)
	if response.Result != abi.RegistrationResultSuccess || slices.ContainsFunc(inner.status, func(s status) bool { return s != done }) {
		return missing
	}
	return done
}

// within returns the deployment of a component's resources.
func (d *deployment) within(c *compilation, component urn.URN) *deployment {
	own := *c
	own.template = &template{}
	*own.template = *c.template
	own.report = &source.Report{File: c.report.File, Budget: d.budget}
	e := &evaluator{ctx: d.ctx, c: &own, scope: newScope(len(own.resources)), monitor: d.monitor, budget: d.budget, components: d.components, component: component}
	e.scope.set(pulumiName, own.pulumi)
	return &deployment{evaluator: e, stack: component, status: make([]status, len(own.graph.nodes))}
}

// nameOf evaluates what a resource is called in its URN. In a component, it may be computed from inputs.
func (e *evaluator) nameOf(r *resource) (string, bool) {
	if r.nameExpr == nil {
		return r.logicalName, true
	}
	v, ok := e.eval(r.nameExpr)
	if !ok {
		return "", false
	}
	var p derivation.Derivation
	v, known := p.Flatten(v)
	text, problem := textOf(v)
	switch {
	case !known && e.static:
		return r.logicalName, true
	case !known:
		problem = "must be known before the deployment, but it depends on a resource that is not there yet"
	case p.Secret:
		problem = "must not be secret, because it is shown"
	case problem == "" && text == "":
		problem = "is empty"
	}
	if problem != "" {
		e.errorf(r.nameExpr, "the name of %q %s", r.name, problem)
		return "", false
	}
	return text, true
}

// located returns the path of a file as the deployment knows it, which begins at the program.
func (c *compilation) located(path string) string {
	base := c.program.project.ProgramDir
	if c.dir == base || filepath.IsAbs(path) || path == "" {
		return path
	}
	if relative, err := filepath.Rel(base, filepath.Join(c.dir, path)); err == nil {
		return relative
	}
	return filepath.Join(c.dir, path)
}

// checkNames refuses two components of a type whose resources would have the same URNs: as in Pulumi, a resource of a
// component is called by its key, and its URN does not name the component itself.
func (c *compilation) checkNames() {
	first := map[string]*resource{}
	for _, r := range c.resources {
		if r.component == nil || r.options.exprs["parent"] != nil {
			continue
		}
		earlier := first[r.token]
		if earlier == nil {
			first[r.token] = r
			continue
		}
		if inner := r.component.firstNamed(); inner != nil {
			c.report.Add(c.report.File.Errorf(source.Of(r.key), "%q and %q are components of one type, and the resource %q in them would have the same name",
				earlier.name, r.name, inner.name).
				With("have the component take a name as an input, and call the resource by it, as in \"name: ${name}-" + inner.name + "\""))
		}
	}
}

// firstNamed returns the first resource whose name is written, nil if all are computed.
func (c *compilation) firstNamed() *resource {
	if !c.searchedNamed {
		c.searchedNamed = true
		if i := slices.IndexFunc(c.resources, func(r *resource) bool { return r.nameExpr == nil }); i >= 0 {
			c.named = c.resources[i]
		}
	}
	return c.named
}

package yamlprogram

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/measure"
)

// register registers or reads a resource, and gives its name a value.
func (d *deployment) register(r *resource) status {
	options, parent, ok := d.resourceOptions(r)
	if parent == "" {
		parent = d.stack
	}
	d.complete(r, &options)
	if r.get != nil {
		return d.read(r, options, parent, ok)
	}
	inputs, inputsOK := d.inputs(r)
	name, nameOK := d.nameOf(r)
	if !ok || !inputsOK || !nameOK {
		return failed
	}
	if r.token == builtin.StackReference {
		at := r.computed
		if name, ok := r.properties.Lookup("name"); ok {
			at = name.Value
		}
		return d.readAs(r, name, at, inputs.Get("name"), inputs, options, parent)
	}
	if r.inputs != nil {
		inputs = r.secrets(r.constants(inputs))
	}
	if r.component != nil {
		return d.registerComponent(r, name, inputs, options, parent)
	}
	o := &optionReader{evaluator: d.evaluator, resource: r, exprs: r.options.exprs, ok: true}
	if mappings := o.envVarMappings(); !o.ok {
		return failed
	} else if mappings.Len() > 0 {
		internal := property.NewMap(property.Entry{Key: providers.EnvVarMappings, Value: property.Object(mappings)})
		inputs = inputs.With(providers.Internal, property.Object(internal))
	}
	depends := dependencies(inputs)
	if !d.holds(r, inputs, depends, parent) {
		return failed
	}
	if len(options.Hooks) > 0 {
		d.acting.Store(urn.New(d.c.run.Stack, d.c.run.Project, parent, r.token, name), r)
	}
	response, err := d.monitor.RegisterResource(d.ctx, abi.RegisterResourceRequest{
		Type: r.token, Name: name, Parent: parent,
		Custom: !r.isComponent(), Remote: r.isComponent(),
		Inputs: derivation.LowerContents(inputs), PropertyDependencies: depends,
		Options: options, SourcePosition: d.position(r),
	})
	if err != nil {
		d.refused(r, err)
		return failed
	}
	if response.Result != abi.RegistrationResultSuccess {
		d.scope.setInstance(&instance{decl: r, urn: response.URN})
		return missing
	}
	i := &instance{decl: r, urn: response.URN, id: response.ID, state: response.State, dependencies: map[string][]string{}}
	for _, p := range response.StateDependencies {
		for _, u := range p.URNs {
			i.dependencies[p.Key] = append(i.dependencies[p.Key], string(u))
		}
	}
	i.complete = d.isComplete(i)
	d.scope.setInstance(i)
	return done
}

const (
	// registrationBytes is the memory that the deployment keeps for a resource beside its properties, by estimate.
	registrationBytes = 1 << 10
	// dependencyBytes is the memory of a dependency.
	dependencyBytes = 64
)

// holds charges for a registration as it is written out, and reports whether the run may go on.
func (d *deployment) holds(r *resource, inputs property.Map, depends []abi.PropertyDependency, parent urn.URN) bool {
	m := measure.Of(property.Object(inputs))
	count := 0
	for _, p := range depends {
		count += len(p.URNs)
	}
	return d.c.report.Spend(r.key, m.Parts()+count, registrationBytes+m.Bytes()+int64(count)*dependencyBytes+int64(len(parent)))
}

// isComplete reports whether what the state lacks is null, and not unknown in a preview.
func (d *deployment) isComplete(i *instance) bool {
	if !d.c.run.DryRun {
		return true
	}
	return !i.state.ContainsUnknowns() && (i.id != "" || i.decl.isComponent())
}

// complete adds to the options what follows from the schema and default providers.
func (d *deployment) complete(r *resource, options *abi.ResourceOptions) {
	if p := d.defaultProvider(r.pkg); p != nil && options.Provider == "" && !r.isProvider() && !r.isComponent() {
		options.Provider = p.reference()
		if options.Version == "" {
			options.Version = p.decl.options.version
		}
	}
	if r.isComponent() && options.Provider == "" { // the provider of its own package is among its children's
		for _, p := range options.Providers {
			if p.Package == d.c.served(r.pkg) {
				options.Provider = p.Reference
			}
		}
	}
	options.PackageRef = d.c.packages.refs[r.pkg]
	if options.Version == "" {
		options.Version = d.c.versionOf(r.pkg)
	}
	if r.outputs != nil && !r.isProvider() {
		for i := range r.outputs.Properties {
			if p := &r.outputs.Properties[i]; p.Secret && !slices.Contains(options.AdditionalSecretOutputs, p.Name) {
				options.AdditionalSecretOutputs = append(options.AdditionalSecretOutputs, p.Name)
			}
		}
	}
	for _, path := range r.replaceOnChanges {
		if !slices.Contains(options.ReplaceOnChanges, path) {
			options.ReplaceOnChanges = append(options.ReplaceOnChanges, path)
		}
	}
	if r.schema != nil {
		for _, typ := range r.schema.Aliases {
			options.Aliases = append(options.Aliases, abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: typ}})
		}
	}
}

// dependencies returns the resources that each top-level input comes from.
func dependencies(inputs property.Map) []abi.PropertyDependency {
	var out []abi.PropertyDependency
	for _, key := range inputs.Keys() {
		p := derivation.Derivation{URNs: inputs.Get(key).Dependencies()}
		if len(p.URNs) > 0 {
			out = append(out, abi.PropertyDependency{Key: key, URNs: p.Distinct()})
		}
	}
	return out
}

func (d *deployment) read(r *resource, options abi.ResourceOptions, parent urn.URN, ok bool) status {
	id, idOK := d.eval(r.get.id)
	state, stateOK := d.properties(r.get.state)
	name, nameOK := d.nameOf(r)
	if !ok || !idOK || !stateOK || !nameOK {
		return failed
	}
	return d.readAs(r, name, r.get.id, id, state, options, parent)
}

// readAs reads a resource by its ID. Stack references, too, are read, and so never out of date.
func (d *deployment) readAs(r *resource, name string, x expr.Expr, id property.Value, state property.Map, options abi.ResourceOptions, parent urn.URN) status {
	var p derivation.Derivation
	id, known := p.Flatten(id)
	if !known {
		// Only a preview comes here: the read depends on a resource that does not exist yet.
		u := urn.New(d.c.run.Stack, d.c.run.Project, parent, r.token, name)
		d.scope.setInstance(&instance{decl: r, urn: u})
		return done
	}
	text, problem := textOf(id)
	if problem == "" && text == "" {
		problem = "is empty"
	}
	if problem != "" {
		d.errorf(x, "the id of %q %s", r.name, problem)
		return failed
	}
	p.Add(state.Dependencies()...)
	if p.Ephemeral() {
		d.errorf(x, "the id and the state of %q must not be ephemeral, because they are recorded", r.name)
		return failed
	}
	have := make(map[urn.URN]bool, len(options.Dependencies))
	for _, u := range options.Dependencies {
		have[u] = true
	}
	for _, u := range p.Distinct() {
		if !have[u] {
			options.Dependencies = append(options.Dependencies, u)
		}
	}
	if !d.holds(r, state, nil, parent) {
		return failed
	}
	response, err := d.monitor.ReadResource(d.ctx, abi.ReadResourceRequest{
		ID: text, Type: r.token, Name: name, Parent: parent,
		Properties: state.Lower(property.KindOutput), Options: options, SourcePosition: d.position(r),
	})
	if err != nil {
		d.refused(r, err)
		return failed
	}
	i := &instance{decl: r, urn: response.URN, id: text, state: response.State}
	i.complete = d.isComplete(i)
	d.scope.setInstance(i)
	return done
}

// refused reports why a resource could not be registered, at the part at fault.
func (d *deployment) refused(r *resource, err error) {
	if failed, ok := errors.AsType[*callback.ActionError](err); ok {
		d.actionFailed(failed, err)
		return
	}
	for _, reason := range reasons(err) {
		if elsewhere, ok := errors.AsType[source.Diagnostic](reason.err); ok {
			d.c.report.Add(elsewhere) // it is about the stack's configuration, for example
			continue
		}
		at := r.key
		if problem, ok := errors.AsType[*abi.Error](reason.err); ok && problem.Path != "" {
			at = d.locate(r, problem.Path)
		}
		summary, detail, _ := strings.Cut(reason.err.Error(), "\n")
		if !strings.Contains(summary, quote(r.name)) {
			summary = quote(r.name) + ": " + summary
		}
		x := d.c.report.File.Errorf(source.Of(at), "%s", summary)
		x.Detail, x.Cause = detail, reason.cause
		d.c.report.Add(x)
	}
}

func (d *deployment) locate(r *resource, path string) *yaml.Node {
	if r.get != nil {
		return locate(r.get.state, path, r.get.key)
	}
	return locate(r.properties, path, r.propertiesKey)
}

type reason struct {
	err error
	// cause is err, or the error that wraps it, for callers that look for types.
	cause error
}

// saysMore reports whether an error says all that its parts say, and more: that there is no space to write a file, say.
func saysMore(err error, parts []error) bool {
	text := err.Error()
	if _, list := err.(source.Diagnostics); list || text == errors.Join(parts...).Error() {
		return false
	}
	return !slices.ContainsFunc(parts, func(part error) bool { return !strings.Contains(text, part.Error()) })
}

// reasons returns the errors that one was joined from, or the error itself.
func reasons(err error) []reason {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && !saysMore(err, joined.Unwrap()) {
		var out []reason
		for _, e := range joined.Unwrap() {
			out = append(out, reasons(e)...)
		}
		return out
	}
	if inner := errors.Unwrap(err); inner != nil {
		if out := reasons(inner); len(out) > 1 {
			for i := range out {
				out[i].cause = err
			}
			return out
		}
	}
	return []reason{{err, err}}
}

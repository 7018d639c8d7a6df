package yamlprogram

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// invoke calls a provider's function. The result has the provenance of the arguments. It is unknown
// if one of them is, or comes from a resource that a preview has not created.
func (e *evaluator) invoke(x *expr.Invoke) (property.Value, bool) {
	f, ok := e.c.functions[x]
	if e.static {
		f, ok = e.c.resolveFunction(e.ctx, x)
		if ok && f.schema != nil {
			asText(x.Args, &f.schema.Args)
		}
	}
	args, argsOK := e.arguments(x, f)
	options, optionsOK := e.functionOptions(x, f)
	if !ok || !argsOK || !optionsOK {
		return property.Null, false
	}
	var from derivation.Derivation
	_, known := from.Flatten(property.Object(args))
	what := func(path string) string { return "argument " + quote(path) + " of " + x.Token }
	if e.static {
		return property.Unknown, e.checkInvoke(x, f, args, what)
	}
	if !known {
		return from.Wrap(property.Unknown), true
	}
	for _, u := range options.DependsOn {
		from.Add(string(u))
	}
	options.DependsOn = from.Distinct()
	options.PackageRef = e.c.packages.refs[f.pkg]
	if options.Version == "" {
		options.Version = e.c.versionOf(f.pkg)
	}
	call := e.monitor.Invoke
	if f.schema != nil && f.schema.Ephemeral {
		call = e.openEphemeral
	}
	response, err := call(e.ctx, abi.MonitorInvokeRequest{Token: f.token, Args: args.Lower(property.KindOutput), Options: options})
	if err != nil {
		e.invokeFailed(x, err)
		return property.Null, false
	}
	if len(response.Failures) > 0 {
		e.c.failures(response.Failures, x.Args, x.TokenNode, what)
		return property.Null, false
	}
	if response.Unknown {
		return from.Wrap(property.Unknown), true
	}
	if x.Return == "" {
		v, ok := e.result(x, f, response.Result)
		return from.Wrap(from.Peel(v)), ok
	}
	v, ok := response.Result.Lookup(x.Return)
	if !ok {
		e.c.report.Errorf(x.ReturnNode, "the result of %s has no property %q%s", x.Token, x.Return, e.c.report.DidYouMean(x.Return, response.Result.Keys))
		return property.Null, false
	}
	return from.Wrap(from.Peel(v)), true
}

// returnsOne reports whether the function returns one value that is not a mapping, such as a text. On the wire, that is the only
// value of a mapping.
func (f function) returnsOne() bool {
	if f.schema == nil || f.schema.Returns == nil {
		return false
	}
	switch f.schema.Returns.Kind {
	case schema.KindObject, schema.KindMap, schema.KindUnion, schema.KindAny:
		return false
	}
	return true
}

// result returns the value of a call without return.
func (e *evaluator) result(x *expr.Invoke, f function, m property.Map) (property.Value, bool) {
	if !f.returnsOne() && (m.Len() != 1 || f.schema == nil || f.schema.Returns == nil || fits(f.schema.Returns, property.Object(m))) {
		return property.Object(m), true
	}
	if m.Len() != 1 {
		e.c.report.Errorf(x.TokenNode, "the result of %s must be one value, and has %d", x.Token, m.Len())
		return property.Null, false
	}
	return m.Get(m.Keys()[0]), true
}

// fits reports whether a value is of a type. Pulumi's providers return a mapping as the only value of another.
func fits(t *schema.Type, v property.Value) bool {
	o := schema.Object{Properties: []schema.Property{{Name: "value", Type: t}}}
	return len(o.CheckAnswer(property.NewMap(property.Entry{Key: "value", Value: v}))) == 0
}

// openEphemeral opens an ephemeral value, which a monitor of a deployment alone can.
func (e *evaluator) openEphemeral(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	opener, ok := e.monitor.(interface {
		OpenEphemeral(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error)
	})
	if !ok {
		return abi.MonitorInvokeResponse{}, errors.New("its value is ephemeral, and only a deployment opens one")
	}
	return opener.OpenEphemeral(ctx, req)
}

// checkInvoke holds a call against the function's schema.
func (e *evaluator) checkInvoke(x *expr.Invoke, f function, args property.Map, what func(path string) string) bool {
	if f.schema == nil {
		return true
	}
	if f.schema.Action {
		c := e.c.report.File.Errorf(source.Of(x.TokenNode), "%s is an action, which changes something", x.Token)
		e.c.report.Add(c.With("declare it under actions, and name it in the option actions of a resource"))
		return false
	}
	if e.static {
		if why := f.schema.Deprecation; why != "" {
			e.c.warnDeprecated(x.TokenNode, f.schema.Token, schema.ShortToken(f.schema.Token), why)
		}
		e.c.deprecatedProperties(f.schema.Token, schema.ShortToken(f.schema.Token), x.Args, &f.schema.Args)
	}
	_, failures := f.schema.Args.Check(args)
	e.c.failures(e.c.withoutMeant(failures, x.Args, &f.schema.Args), x.Args, x.TokenNode, what)
	if x.Return != "" && len(f.schema.Result.Properties) > 0 && f.schema.Result.Property(x.Return) == nil {
		e.c.report.Errorf(x.ReturnNode, "the result of %s has no property %q%s", x.Token, x.Return, e.c.report.DidYouMean(x.Return, f.schema.Result.Names))
		return false
	}
	return len(failures) == 0
}

func (e *evaluator) functionOptions(x *expr.Invoke, f function) (out abi.FunctionOptions, ok bool) {
	o := &optionReader{evaluator: e, exprs: map[string]expr.Expr{}, ok: true}
	out.Version, out.Parent = x.Version, e.component
	if x.Parent != nil {
		if parent := o.resourceOf("the option parent", x.Parent); parent != nil {
			out.Parent = parent.urn
		}
	}
	if x.DependsOn != nil {
		for _, i := range o.resources("the option dependsOn", x.DependsOn) {
			out.DependsOn = append(out.DependsOn, i.urn)
		}
	}
	provider := o.provider("provider", x.Provider)
	if provider == nil && x.Provider == nil && !e.static {
		provider = e.defaultProvider(f.pkg)
	}
	if provider != nil {
		out.Provider = provider.reference()
		out.DependsOn = append(out.DependsOn, provider.urn)
	}
	return out, o.ok
}

// defaultProvider returns the default provider of a package, if it is there by now.
func (e *evaluator) defaultProvider(pkg string) *instance {
	r := e.c.defaults[e.c.served(pkg)]
	if r == nil {
		return nil
	}
	v, _ := e.scope.lookup(r.name)
	var p derivation.Derivation
	if ref, ok := p.Peel(v).AsReference(); ok {
		return e.scope.instance(ref.URN)
	}
	return nil
}

func (e *evaluator) invokeFailed(x *expr.Invoke, err error) {
	if elsewhere, ok := errors.AsType[source.Diagnostics](err); ok {
		e.c.report.Add(elsewhere...) // it is about the stack's configuration, for example
		return
	}
	at := x.TokenNode
	if problem, ok := errors.AsType[*abi.Error](err); ok && problem.Path != "" {
		at = locate(x.Args, problem.Path, x.TokenNode)
	}
	d := e.c.report.File.Errorf(source.Of(at), "%s: %v", x.Token, err)
	d.Cause = err
	e.c.report.Add(d)
}

// stackReference returns an output of another stack by the old fn::stackReference.
func (e *evaluator) stackReference(c *expr.Call, args []property.Value) (property.Value, bool) {
	var p derivation.Derivation
	stack, stackKnown := p.Flatten(args[0])
	output, outputKnown := p.Flatten(args[1])
	if e.static {
		e.c.report.Warnf(c.Node(), "%s is deprecated: declare a resource of type %s", c.Function, builtin.StackReference)
	}
	plain := []property.Value{stack, output}
	for i, what := range [...]string{"the stack", "the output"} {
		if plain[i].IsUnknown() {
			continue
		}
		if _, problem := textArg(plain, i, what); problem != nil {
			e.errorf(c.Args[i], "%s: %s", c.Function, problem.message)
			return property.Null, false
		}
	}
	if e.static || !stackKnown || !outputKnown {
		return p.Wrap(property.Unknown), true
	}
	response, err := e.monitor.Invoke(e.ctx, abi.MonitorInvokeRequest{
		Token:   builtin.ReadStackOutputs,
		Args:    property.NewMap(property.Entry{Key: "name", Value: stack}),
		Options: abi.FunctionOptions{DependsOn: p.Distinct()},
	})
	if err != nil {
		e.errorf(c.Args[0], "%s: %v", c.Function, err)
		return property.Null, false
	}
	if response.Unknown {
		return p.Wrap(property.Unknown), true
	}
	outputs, _ := response.Result.Get("outputs").AsObject()
	name, _ := output.AsString()
	v, ok := outputs.Lookup(name)
	if !ok {
		e.errorf(c.Args[1], "%s: the stack has no output %q%s", c.Function, name, e.c.report.DidYouMean(name, outputs.Keys))
		return property.Null, false
	}
	return p.Wrap(p.Peel(v)), true
}

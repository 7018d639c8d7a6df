package deploy

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/dependency"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// Deployment declares the resources of a program, or the children of a component. A declaration returns at once. The child is made
// when all that it refers to exists: independent children are made in parallel, in the order of
// their declarations. The program or component ends when all are made. After a failure no more children are
// begun, and it fails with the first error.
//
// Only the goroutine of the call may use a Deployment, and only during the call.
type Deployment struct {
	ctx     context.Context
	monitor abi.Monitor
	context *abi.RunContext
	preview bool
	// parent is the component, or the stack.
	parent     urn.URN
	program    bool
	transforms []func(*Declaration)

	// waiting are operations whose sources are not there yet, in order of declaration.
	waiting []*operation
	running map[abi.OperationHandle]*operation
	failure error
}

// operation is one that the monitor is asked to do.
type operation struct {
	// sources must be there before it can start.
	sources []*eventual.Cell
	request func([]property.Value) abi.Operation
	// done takes what came out of it.
	done func(*abi.Outcome) error
	cell *eventual.Cell
	// fatal says that its failure is that of all.
	fatal bool
	// what it is, for messages.
	what string
}

// Run is a call of a program or component. SDKs make it.
type Run struct {
	Monitor abi.Monitor
	Context *abi.RunContext
	// Parent is the stack or component.
	Parent urn.URN
	// Program says that a resource which failed, or was left out, ends nothing by itself: the deployment goes on without it, and
	// its outputs are unknown.
	Program bool
}

// Do calls declare, waits for the resources that it declares, and returns the outputs. They are asked for once all is made, and
// again if asking declares more. After a failure, Do waits for running operations, so that they are recorded.
func (r Run) Do(ctx context.Context, declare func(*Deployment) error, outputs func() (property.Map, error)) (property.Map, error) {
	d := &Deployment{
		ctx: ctx, monitor: r.Monitor, context: r.Context, preview: r.Context.DryRun, parent: r.Parent, program: r.Program,
		running: map[abi.OperationHandle]*operation{},
	}
	err := declare(d)
	for err == nil {
		if err = d.finish(); err != nil {
			break
		}
		var m property.Map
		if m, err = outputs(); err == nil && len(d.running)+len(d.waiting) == 0 {
			return m, nil
		}
	}
	if d.failure == nil {
		d.failure = err
	}
	_ = d.finish() // an earlier failure, or the end of waiting
	return property.Map{}, d.failure
}

// Resolve returns the values of outputs, which exist once all is made.
func (d *Deployment) Resolve(outputs Props) (property.Map, error) {
	v, there, err := object(outputs).Get()
	if err == nil && !there && len(d.running)+len(d.waiting) == 0 {
		err = errNotOurs()
	}
	m, _ := v.AsObject()
	return m, err
}

// Preview reports whether nothing is made. The outputs of new children are unknown then.
func (d *Deployment) Preview() bool { return d.preview }

// Context returns the deployment that the program or component is part of.
func (d *Deployment) Context() abi.RunContext { return *d.context }

// Transform calls change for each later declaration, before it takes effect.
func (d *Deployment) Transform(change func(*Declaration)) {
	d.transforms = append(d.transforms, change)
}

// Resource declares a resource.
func (d *Deployment) Resource(declared Declaration) *Child { return d.declare(declared, true, false) }

// Component declares a component that a provider makes.
func (d *Deployment) Component(declared Declaration) *Child { return d.declare(declared, false, true) }

// Group declares a component without a provider, to be the parent of others.
func (d *Deployment) Group(declared Declaration) *Child { return d.declare(declared, false, false) }

func (d *Deployment) declare(declared Declaration, custom, remote bool) *Child {
	for _, change := range d.transforms {
		change(&declared)
	}
	o := declared.Options
	child := &Child{d: d, typ: declared.Type, name: declared.Name, custom: custom, cell: eventual.Pending()}
	d.begin(&operation{
		what: declared.Type + " " + declared.Name, fatal: true, cell: child.cell,
		sources: sourcesOf(&o, declared.Inputs),
		request: func(values []property.Value) abi.Operation {
			inputs, _ := values[0].AsObject()
			return abi.Operation{Case: abi.OperationCaseRegisterResource, RegisterResource: abi.RegisterResourceRequest{
				Type: declared.Type, Name: declared.Name, Parent: d.parentOf(o.Parent), Custom: custom, Remote: remote,
				Inputs: inputs, PropertyDependencies: dependency.Of(inputs), Options: o.resolve(values[1]),
			}}
		},
		done: func(out *abi.Outcome) error {
			r := &out.Registered
			switch {
			case d.program:
			case r.Result == abi.RegistrationResultFailed:
				return abi.NewError(abi.ErrorKindInternal, "it failed")
			case r.Result == abi.RegistrationResultSkipped:
				return abi.NewError(abi.ErrorKindInternal, "it was left out, because something that it depends on failed")
			}
			child.made = made{r.URN, r.ID, r.State, r.StateDependencies, r.Result != abi.RegistrationResultSuccess}
			return nil
		},
	})
	return child
}

// Read reads a resource that exists and is not managed here. If its ID is not enough to find the resource, the inputs of
// the declaration help.
func (d *Deployment) Read(declared Declaration, id Out[string]) *Child {
	for _, change := range d.transforms {
		change(&declared)
	}
	o := declared.Options
	child := &Child{d: d, typ: declared.Type, name: declared.Name, custom: true, cell: eventual.Pending()}
	d.begin(&operation{
		what: declared.Type + " " + declared.Name, fatal: true, cell: child.cell,
		sources: append(sourcesOf(&o, declared.Inputs), id.cell),
		request: func(values []property.Value) abi.Operation {
			inputs, _ := values[0].AsObject()
			id := values[len(values)-1]
			child.made.id, _ = id.Plain().AsString() // empty if unknown in a preview
			options := o.resolve(values[1])
			for _, u := range id.Dependencies() {
				options.Dependencies = append(options.Dependencies, urn.URN(u))
			}
			return abi.Operation{Case: abi.OperationCaseReadResource, ReadResource: abi.ReadResourceRequest{
				ID: child.made.id, Type: declared.Type, Name: declared.Name, Parent: d.parentOf(o.Parent),
				Properties: inputs, Options: options,
			}}
		},
		done: func(out *abi.Outcome) error {
			child.made.urn, child.made.state = out.ResourceRead.URN, out.ResourceRead.State
			return nil
		},
	})
	return child
}

// Invoke returns the result of a function of a package. It uses the options Parent, Provider,
// Version, Package, and DependsOn. An error appears when the result is used.
func (d *Deployment) Invoke(token string, args Props, o Options) Out[property.Value] {
	return d.call(token, args, &o, func(args property.Map, options abi.FunctionOptions) abi.Operation {
		return abi.Operation{Case: abi.OperationCaseInvoke, Invoke: abi.MonitorInvokeRequest{
			Token: token, Args: args, Options: options,
		}}
	})
}

// Self is the argument that holds the component a method is called on.
const Self = "__self__"

// Call returns the result of a method of a component, for example site:index:Site/check of a child
// of type site:index:Site. It uses the same options as Invoke.
func (d *Deployment) Call(of *Child, token string, args Props, o Options) Out[property.Value] {
	all := Props{Self: of}
	for name, v := range args {
		all[name] = v
	}
	return d.call(token, all, &o, func(args property.Map, options abi.FunctionOptions) abi.Operation {
		return abi.Operation{Case: abi.OperationCaseCall, Call: abi.MonitorCallRequest{
			Token: token, Args: args, ArgDependencies: dependency.Of(args), Options: options,
		}}
	})
}

func (d *Deployment) call(token string, args Props, o *Options, request func(property.Map, abi.FunctionOptions) abi.Operation) Out[property.Value] {
	result := eventual.Pending()
	var answer *eventual.Cell
	cell := eventual.Computed([]*eventual.Cell{result}, func([]property.Value) (*eventual.Cell, error) { return answer, nil })
	var from property.Value
	d.begin(&operation{
		what: token, cell: result, sources: sourcesOf(o, args),
		request: func(values []property.Value) abi.Operation {
			m, _ := values[0].AsObject()
			from = values[0]
			options := o.resolve(property.Null)
			return request(m, abi.FunctionOptions{
				Provider: options.Provider, Version: options.Version, PackageRef: options.PackageRef,
				Parent: d.parentOf(o.Parent), DependsOn: options.Dependencies,
			})
		},
		done: func(out *abi.Outcome) error {
			var v property.Value
			var failures []abi.CheckFailure
			if out.Case == abi.OutcomeCaseCalled {
				failures = out.Called.Failures
				v = called(out.Called)
			} else {
				failures = out.Invoked.Failures
				v = property.Object(out.Invoked.Result)
				if out.Invoked.Unknown {
					v = property.Unknown
				}
			}
			if len(failures) > 0 {
				return abi.NewRefusal(failures)
			}
			answer = eventual.Of(marked(v, from))
			return nil
		},
	})
	return Out[property.Value]{cell: cell}
}

// called returns the result of a method. Each of its properties has its dependencies.
func called(r abi.MonitorCallResponse) property.Value {
	m := r.Result
	for _, d := range r.ResultDependencies {
		m = m.With(d.Key, dependency.With(m.Get(d.Key), d.URNs))
	}
	return property.Object(m)
}

// Package registers a parameterized package. The result is for [Options.Package].
func (d *Deployment) Package(request abi.RegisterPackageRequest) (string, error) {
	response, err := d.monitor.RegisterPackage(d.ctx, request)
	return response.PackageRef, err
}

// Await waits for a value, to decide what else to declare. In a preview the value may be unknown. Its
// secrets are returned in plain. See [Apply] for the types.
func Await[T any](d *Deployment, o Out[T]) (v T, known bool, err error) {
	value, err := d.await(o.cell)
	if err != nil || value.ContainsUnknowns() {
		return v, false, err
	}
	err = decode(value, &v)
	return v, err == nil, err
}

// sourcesOf returns the inputs, the replacement trigger, and the children of the options.
func sourcesOf(o *Options, inputs Props) []*eventual.Cell {
	sources := []*eventual.Cell{object(inputs), cellOf(o.ReplacementTrigger)}
	for _, c := range o.children() {
		if c != nil {
			sources = append(sources, c.cell)
		}
	}
	return sources
}

func (d *Deployment) parentOf(c *Child) urn.URN {
	if c == nil {
		return d.parent
	}
	return c.made.urn
}

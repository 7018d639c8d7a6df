package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// action is a call of a function that changes something, when resources change.
type action struct {
	name string
	key  *yaml.Node
	call *expr.Invoke
}

// binding is an action in the options of a resource.
type binding struct {
	kind abi.HookKind
	at   *expr.Access
	// action is nil if there is none of the name.
	action *action
}

// actionKinds are the keys of the option actions, in the order in which they happen.
var actionKinds = []struct {
	name string
	kind abi.HookKind
}{
	{"beforeCreate", abi.HookKindBeforeCreate}, {"afterCreate", abi.HookKindAfterCreate},
	{"beforeUpdate", abi.HookKindBeforeUpdate}, {"afterUpdate", abi.HookKindAfterUpdate},
}

// readActions reads {afterCreate: "${tell}", afterUpdate: ["${tell}", "${restart}"]}.
func (o *options) readActions(r *source.Report, n *yaml.Node) {
	var keys []source.Key
	for _, k := range actionKinds {
		keys = append(keys, source.On(k.name, func(f source.Field) bool {
			named := expr.Parse(r, f.Value)
			all := []expr.Expr{named}
			if list, ok := named.(*expr.List); ok {
				all = list.Elements
			}
			for _, x := range all {
				switch a, ok := x.(*expr.Access); {
				case ok && len(a.Path) == 0:
					o.actions = append(o.actions, binding{kind: k.kind, at: a})
				default:
					if _, reported := x.(*expr.Invalid); !reported {
						r.Errorf(x.Node(), "%s must name an action, as in ${name}, or a list of them", f.Name)
					}
				}
			}
			return true
		}))
	}
	for _, name := range []string{"beforeDelete", "afterDelete"} {
		keys = append(keys, source.On(name, func(f source.Field) bool {
			r.Errorf(f.Key, "actions run at the creation and update of a resource, not at its deletion")
			return false
		}).Hidden())
	}
	r.Read(n, "actions", keys...)
}

// bind finds the actions that resources name.
func (c *compilation) bind(actions map[string]*action) {
	for _, r := range c.resources {
		for i := range r.options.actions {
			b := &r.options.actions[i]
			if b.action = actions[b.at.Name]; b.action == nil {
				names := func() (names []string) {
					for _, a := range c.actions {
						names = append(names, a.name)
					}
					return names
				}
				c.report.Add(c.report.File.Errorf(b.at.Position(c.report.File, 0),
					"there is no action %q%s", b.at.Name, c.report.DidYouMean(b.at.Name, names)))
			}
		}
	}
}

// checkAction holds the arguments of an action against its schema.
func (c *compilation) checkAction(e *evaluator, a *action) {
	f, ok := c.resolveFunction(e.ctx, a.call)
	if ok && f.schema != nil {
		asText(a.call.Args, &f.schema.Args)
	}
	args, argsOK := e.arguments(a.call, f)
	e.functionOptions(a.call, f)
	switch {
	case !ok || !argsOK || f.schema == nil:
		return
	case !f.schema.Action:
		c.report.Add(c.report.File.Errorf(source.Of(a.call.TokenNode), "%s is a function, and no action", a.call.Token).
			With("call it with fn::invoke, where its result is needed"))
		return
	}
	_, failures := f.schema.Args.Check(args)
	c.failures(c.withoutMeant(failures, a.call.Args, &f.schema.Args), a.call.Args, a.call.TokenNode, a.argument)
}

func (a *action) argument(path string) string {
	return "argument " + quote(path) + " of the action " + quote(a.name)
}

// checkBindings refuses actions of resources that are not created and updated, and actions that need missing resources.
func (c *compilation) checkBindings(r *resource) {
	for _, b := range r.options.actions {
		at := b.at.Position(c.report.File, 0)
		switch {
		case r.get != nil, r.token == builtin.StackReference:
			c.report.Add(c.report.File.Errorf(at, "%q is read, and never created or updated, so it has no actions", r.name))
		case r.isProvider():
			c.report.Add(c.report.File.Errorf(at, "%q is a provider, which has no actions", r.name))
		case r.isComponent():
			c.report.Add(c.report.File.Errorf(at, "%q is a component, which has no actions", r.name))
		case b.action != nil && b.kind == abi.HookKindBeforeCreate:
			expr.Accesses(b.action.call, func(a *expr.Access) {
				if c.report.Spend(r.key, 1, 0) && a.Name == r.name {
					c.report.Add(c.report.File.Errorf(at, "the action %q runs before %q is created, and refers to it", b.action.name, r.name))
				}
			})
		}
	}
}

// registerActions makes the actions known to the deployment.
func (d *deployment) registerActions() error {
	if len(d.c.actions) == 0 {
		return nil
	}
	m, ok := d.monitor.(callback.Monitor)
	if !ok {
		return fmt.Errorf("register the actions: the monitor %T takes no callbacks", d.monitor)
	}
	for _, a := range d.c.actions {
		err := m.RegisterAction(callback.Action{
			Name: a.name, Function: d.c.functions[a.call].token,
			Call: func(ctx context.Context, s callback.Step) (callback.FunctionCall, error) { return d.callAt(ctx, a, s) },
		})
		if err != nil {
			return fmt.Errorf("register the action %q: %w", a.name, err)
		}
	}
	return nil
}

// callAt evaluates the call of an action for a step. The resource is as the step leaves it or, before that, as it
// finds it.
func (d *deployment) callAt(ctx context.Context, a *action, s callback.Step) (call callback.FunctionCall, err error) {
	e := &evaluator{ctx: ctx, c: d.c, scope: d.scope, monitor: d.monitor, budget: d.budget, components: d.components}
	seen := s.New
	if s.Kind == abi.HookKindBeforeUpdate {
		seen = s.Old
	}
	var decl any
	if seen != nil { // it does not run by itself
		decl, _ = d.acting.Load(seen.URN)
	}
	if decl != nil {
		i := &instance{decl: decl.(*resource), urn: seen.URN, id: seen.ID, state: seen.Outputs}
		i.complete = d.isComplete(i)
		e.scope = d.scope.with(i)
	}
	f := d.c.functions[a.call]
	args, ok := e.arguments(a.call, f)
	options, optionsOK := e.functionOptions(a.call, f)
	if !ok || !optionsOK {
		if err := ctx.Err(); err != nil {
			return call, err
		}
		return call, errors.New("its arguments cannot be computed")
	}
	options.PackageRef = d.c.packages.refs[f.pkg]
	if options.Version == "" {
		options.Version = d.c.versionOf(f.pkg)
	}
	return callback.FunctionCall{Args: derivation.LowerContents(args), Options: options}, nil
}

// actionFailed reports the failure of an action where the program has it.
func (d *deployment) actionFailed(failed *callback.ActionError, err error) {
	for _, a := range d.c.actions {
		if a.name != failed.Name {
			continue
		}
		at := a.key
		if problem, ok := errors.AsType[*abi.Error](failed.Err); ok && problem.Path != "" {
			if _, err := property.ParsePath(problem.Path); err == nil {
				at = locate(a.call.Args, problem.Path, a.key)
			}
		}
		summary, detail, _ := strings.Cut(err.Error(), "\n")
		x := d.c.report.File.Errorf(source.Of(at), "%s", summary)
		x.Detail, x.Cause = detail, err
		d.c.report.Add(x)
	}
}

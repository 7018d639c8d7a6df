package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// PlannedAction is an action that a plan has run.
type PlannedAction struct {
	// Kind is when it runs.
	Kind           abi.HookKind
	Name, Function string
	// Provider is the reference of the provider that the program names, empty for the default one.
	Provider string
	// Arguments are without ephemeral values. Unknown parts may become anything.
	Arguments property.Map
}

// RegisterAction makes an action known under its name.
func (m *monitor) RegisterAction(a callback.Action) error { return m.d.hooks.AddAction(a) }

// act runs an action by itself.
func (d *deployment) act(ctx context.Context) error {
	d.mode = acting
	if err := d.runProgram(ctx); err != nil {
		return err
	}
	a, ok := d.hooks.Actions.Lookup(d.Action)
	if !ok {
		names := slices.Sorted(maps.Keys(d.hooks.Actions.Entries()))
		return fmt.Errorf("the program has no action %q: it has %s", d.Action, cmp.Or(join(names), none))
	}
	if err := d.applier.runAction(ctx, a, callback.Step{DryRun: d.previews()}); err != nil {
		return fmt.Errorf("the action %q failed: %w", a.Name, err)
	}
	return nil
}

// runAction runs an action for a step, or by itself if there is none. In a preview the provider only checks its arguments.
func (a *applier) runAction(ctx context.Context, action callback.Action, step callback.Step) error {
	info := ActionInfo{Name: action.Name, Function: action.Function}
	if res := step.Resource(); res != nil {
		info.URN, info.Event = res.URN, step.Kind.String()
	}
	for _, res := range []*state.Resource{step.Old, step.New} {
		if res != nil {
			res.Outputs = a.assets.Withhold(res.Outputs)
		}
	}
	call, err := action.Call(ctx, step)
	if err != nil {
		return err
	}
	admitted, err := a.assets.Admit(ctx, call.Args, true)
	if err != nil {
		return err
	}
	args := providers.Fold(admitted, make(map[urn.URN]struct{}))
	a.Secrets.LearnComputed(args)
	if args.ContainsUnknowns() && !a.previews() {
		return errors.New("its arguments hold values that are not known")
	}
	if err := a.planning.action(info.URN, PlannedAction{
		Kind: step.Kind, Name: action.Name, Function: action.Function, Provider: call.Options.Provider,
		Arguments: recordable(admitted),
	}); err != nil {
		return err
	}
	provider, err := a.functionProvider(ctx, action.Function, call.Options)
	if err != nil {
		return err
	}
	info.Arguments = inputLines(args, "add")
	start := time.Now()
	a.emit(ActionStarted{Action: info})
	resp, err := provider.RunAction(ctx, abi.RunActionRequest{Token: action.Function, Args: args, Preview: a.previews()})
	var refused []error
	for _, f := range resp.Failures {
		e := abi.NewError(abi.ErrorKindInvalidArgument, f.Reason)
		e.Path = f.Path
		refused = append(refused, e)
	}
	if err = cmp.Or(err, errors.Join(refused...)); err != nil {
		a.emit(ActionFailed{Action: info, DurationMs: durationMs(start), Error: err.Error()})
		return err
	}
	a.emit(ActionDone{Action: info, DurationMs: durationMs(start)})
	return nil
}

// recordable returns arguments without what must not be recorded.
func recordable(args property.Map) property.Map {
	return providers.Fold(ephemeral.Without(args, ephemeral.Places(args)...), make(map[urn.URN]struct{}))
}

// actionsOf returns the actions that steps will run, without their arguments, by the resource.
func (d *deployment) actionsOf(steps []*step) (u urn.URN, actions []PlannedAction) {
	for _, s := range steps {
		operation, before, after := d.hooksOf(s)
		if operation == "" || s.new == nil {
			continue
		}
		u = s.new.URN
		for _, kind := range []abi.HookKind{before, after} {
			for _, a := range d.hooks.BoundActions(u, kind) {
				actions = append(actions, PlannedAction{Kind: kind, Name: a.Name, Function: a.Function})
			}
		}
	}
	return u, actions
}

// actions holds the actions of a resource's steps to the plan. Steps that the plan has, too, run the planned
// actions, and others none.
func (p *planning) actions(d *deployment, steps []*step) error {
	u, actions := d.actionsOf(steps)
	if p.plan != nil {
		for _, s := range steps {
			operation, before, after := d.hooksOf(s)
			if operation == "" || s.new == nil {
				continue
			}
			var planned []PlannedAction
			if r := p.plan.Resources[s.new.URN]; r != nil {
				planned = r.Actions
			}
			of := func(all []PlannedAction) (names []string) {
				for _, a := range all {
					if a.Kind == before || a.Kind == after {
						names = append(names, a.String())
					}
				}
				return names
			}
			if is, was := join(of(actions)), join(of(planned)); is != was {
				return &PlanError{URN: s.new.URN, Part: "action", Actual: cmp.Or(is, none), Planned: cmp.Or(was, none)}
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft != nil && len(actions) > 0 {
		p.drafted(u).Actions = actions
	}
	return nil
}

// String says when which function runs.
func (a PlannedAction) String() string { return fmt.Sprintf("%s %s (%s)", a.Kind, a.Name, a.Function) }

// action holds an action to the plan, before it runs for the resource.
func (p *planning) action(u urn.URN, a PlannedAction) error {
	same := func(b PlannedAction) bool { return a.Kind == b.Kind && a.Name == b.Name && a.Function == b.Function }
	if p.plan != nil {
		var planned []PlannedAction
		if r := p.plan.Resources[u]; r != nil {
			planned = r.Actions
		}
		i := slices.IndexFunc(planned, same)
		if i < 0 {
			return &PlanError{URN: u, Part: "action", Actual: a.String(), Planned: none}
		}
		if was := planned[i].Provider; was != a.Provider && !resolves(was, a.Provider) {
			return &PlanError{URN: u, Part: "provider of the action " + a.Name, Actual: cmp.Or(a.Provider, none), Planned: cmp.Or(was, none)}
		}
		named := func(args property.Map) property.Map {
			return property.NewMap(property.Entry{Key: a.Name, Value: property.Object(args)})
		}
		if err := checkProperties(u, "actions", named(a.Arguments), named(planned[i].Arguments)); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft == nil {
		return nil
	}
	actions := p.drafted(u).Actions
	if i := slices.IndexFunc(actions, same); i >= 0 {
		actions[i] = a
	}
	return nil
}

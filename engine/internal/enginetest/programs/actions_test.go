package programs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// crew is a provider with posts, and an action that calls out. Tokens of it are ephemeral.
type crew struct {
	diary
	// calling, if set, is called by each action.
	calling func(context.Context) error
}

type postInputs struct {
	Place string `husk:"place,replace"`
	Rank  int    `husk:"rank,optional"`
}

type postState struct {
	postInputs
	Code string `husk:"code,secret"`
}

type crewPost struct{ *crew }

func (p crewPost) Create(_ context.Context, r guest.CreateRequest[postInputs]) (guest.CreateResponse[postState], error) {
	p.write("create " + r.Inputs.Place)
	return guest.CreateResponse[postState]{ID: "id of " + r.Inputs.Place, State: postState{r.Inputs, "code of " + r.Inputs.Place}}, nil
}

func (p crewPost) Update(_ context.Context, r guest.UpdateRequest[postInputs, postState]) (guest.UpdateResponse[postState], error) {
	p.write("update " + r.Inputs.Place)
	return guest.UpdateResponse[postState]{State: postState{r.Inputs, r.State.Code}}, nil
}

type callArgs struct {
	Text string `husk:"text"`
	Code string `husk:"code,optional"`
	By   string `husk:"by,optional"`
}

type crewConfig struct {
	Gate string `husk:"gate,optional"`
}

func (c *crew) Load(context.Context, engine.PackageSpec) (abi.Provider, error) {
	return guest.New(guest.Provider{
		Name: "crew", Version: "1.0.0",
		Config:     guest.ConfigOf(func(context.Context, crewConfig) error { return nil }),
		Resources:  []guest.Resource{guest.ResourceOf("crew:index:Post", crewPost{c})},
		Ephemerals: []guest.Ephemeral{guest.EphemeralOf("crew:index:token", crewToken{})},
		Actions: []guest.Action{guest.ActionOf("crew:index:call", func(ctx context.Context, args callArgs) error {
			c.write(fmt.Sprintf("call %s %s%s", args.Text, args.Code, args.By))
			if c.calling != nil {
				return c.calling(ctx)
			}
			return nil
		})},
	})
}

type crewToken struct{}

func (crewToken) Open(_ context.Context, args tokenArgs) (guest.Opened[tokenResult], error) {
	return guest.Opened[tokenResult]{Value: tokenResult{"token of " + args.Role}}, nil
}

func newCrew(t *testing.T) (*crew, *enginetest.Stack) {
	c := &crew{}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.Providers = c }
	return c, s
}

// action calls out what args returns for a step.
func action(name string, args func(callback.Step) property.Map) callback.Action {
	return callback.Action{Name: name, Function: "crew:index:call", Call: func(_ context.Context, s callback.Step) (callback.FunctionCall, error) {
		return callback.FunctionCall{Args: args(s)}, nil
	}}
}

// saying is an action that calls its kind and a text out.
func saying(name string) callback.Action {
	return action(name, func(s callback.Step) property.Map { return enginetest.Props("text", s.Kind.String()+" "+name) })
}

// aroundChanges binds actions to all kinds of steps that they can be for.
func aroundChanges(actions ...string) enginetest.OptionsOf {
	return func(o *abi.ResourceOptions) {
		for _, kind := range stepHooks[:4] {
			o.Hooks = append(o.Hooks, abi.HookBinding{Kind: kind, Names: actions})
		}
	}
}

func on(kind abi.HookKind, actions ...string) enginetest.OptionsOf {
	return func(o *abi.ResourceOptions) {
		o.Hooks = append(o.Hooks, abi.HookBinding{Kind: kind, Names: actions})
	}
}

// acting is a program that registers actions, and then resources.
func acting(then enginetest.Program, actions ...callback.Action) enginetest.Program {
	return func(p *enginetest.Run) error {
		for _, a := range actions {
			if err := callbacks(p).RegisterAction(a); err != nil {
				return err
			}
		}
		return then(p)
	}
}

// posted is a program with one post.
func posted(place string, rank int, options ...enginetest.OptionsOf) enginetest.Program {
	return custom("crew:index:Post", "p", enginetest.Props("place", place, "rank", rank), options...)
}

// Actions run in their order around creations, updates, and replacements, and not where nothing changes. The state
// knows nothing of them.
func TestActionsRunAroundSteps(t *testing.T) {
	c, s := newCrew(t)
	up := func(place string, rank int) []string {
		s.Up(acting(posted(place, rank, aroundChanges("a", "b")), saying("a"), saying("b")))
		return c.read()
	}
	require.Equal(t, []string{
		"call before-create a ", "call before-create b ", "create x", "call after-create a ", "call after-create b ",
	}, up("x", 1))
	require.Empty(t, up("x", 1))
	require.Equal(t, []string{
		"call before-update a ", "call before-update b ", "update x", "call after-update a ", "call after-update b ",
	}, up("x", 2))
	require.Equal(t, []string{
		"call before-create a ", "call before-create b ", "create y", "call after-create a ", "call after-create b ",
	}, up("y", 2), "a replacement is a creation")
	require.Empty(t, s.Resource("p").ResourceHooks)

	s.Up(nothing)
	require.Nil(t, s.Resource("p"), "its deletion needs no action")
	c.read()

	// Hooks and actions take turns as the options name them.
	s.Up(hooked([]callback.Hook{c.hook("hook")}, acting(posted("z", 1, on(abi.HookKindAfterCreate, "a", "hook", "b")), saying("a"), saying("b"))))
	require.Equal(t, []string{"create z", "call after-create a ", "after-create p", "call after-create b "}, c.read())
	require.Equal(t, map[string][]string{"after_create": {"hook"}}, s.Resource("p").ResourceHooks)
}

// Arguments come from the resource as it is at the step. Their secrets are shown nowhere.
func TestArgumentsOfActions(t *testing.T) {
	c, s := newCrew(t)
	tell := action("tell", func(s callback.Step) property.Map {
		seen := s.New
		if s.Kind == abi.HookKindBeforeUpdate {
			seen = s.Old
		}
		args := enginetest.Props("text", seen.Outputs.Get("rank"))
		if rank, ok := seen.Outputs.Get("rank").AsNumber(); ok {
			args = args.With("text", property.String(fmt.Sprint(rank)))
		}
		return args.With("code", seen.Outputs.Get("code"))
	})
	program := func(rank int) enginetest.Program {
		return acting(posted("x", rank, on(abi.HookKindAfterCreate, "tell"), on(abi.HookKindBeforeUpdate, "tell"), on(abi.HookKindAfterUpdate, "tell")), tell)
	}
	s.Up(program(1))
	require.Equal(t, []string{"create x", "call 1 code of x"}, c.read())
	info := engine.ActionInfo{Name: "tell", Function: "crew:index:call", Event: "after-create", URN: s.Resource("p").URN, Arguments: []engine.PropertyChange{
		{Path: "code", Kind: "add", New: "[secret]"}, {Path: "text", Kind: "add", New: `"1"`},
	}}
	require.Contains(t, s.Events(), engine.Event(engine.ActionStarted{Action: info}))
	require.Equal(t, 1, summaryOf(s).Actions)
	s.Up(program(2))
	require.Equal(t, []string{"call 1 code of x", "update x", "call 2 code of x"}, c.read())
	for _, e := range s.Events() {
		require.NotContains(t, fmt.Sprintf("%+v", e), "code of")
	}
}

func summaryOf(s *enginetest.Stack) engine.Summary {
	events := s.Events()
	return events[len(events)-1].(engine.Summary)
}

// A preview has the provider check the arguments, as far as they are known, and runs nothing.
func TestPreviewsOfActions(t *testing.T) {
	c, s := newCrew(t)
	tell := func(text property.Value) callback.Action {
		return action("tell", func(s callback.Step) property.Map {
			return enginetest.Props("text", text, "code", s.New.Outputs.Get("code"))
		})
	}
	program := func(text property.Value) enginetest.Program {
		return acting(posted("x", 1, on(abi.HookKindAfterCreate, "tell")), tell(text))
	}
	s.Preview(program(property.String("hello")))
	require.Empty(t, c.read())
	var planned []engine.ActionInfo
	for _, e := range s.Events() {
		if done, ok := e.(engine.ActionDone); ok {
			planned = append(planned, done.Action)
		}
	}
	require.Len(t, planned, 1)
	require.Equal(t, "after-create", planned[0].Event)
	require.Equal(t, engine.PropertyChange{Path: "code", Kind: "add", New: "[secret]"}, planned[0].Arguments[0])
	require.Equal(t, 1, summaryOf(s).Actions)

	_, err := s.Try(enginetest.Preview, program(property.Number(7)))
	require.ErrorContains(t, err, `the after-create action "tell" failed`)
	require.ErrorContains(t, err, "string")

	// A provider that is not configured yet checks nothing.
	s.Preview(func(p *enginetest.Run) error {
		first, err := p.Custom("crew:index:Post", "first", enginetest.Props("place", "f"))
		if err != nil {
			return err
		}
		own, err := p.Custom("pulumi:providers:crew", "own", enginetest.Props("gate", first.Out("code")))
		if err != nil {
			return err
		}
		a := tell(property.Number(7))
		call := a.Call
		a.Call = func(ctx context.Context, s callback.Step) (callback.FunctionCall, error) {
			answer, err := call(ctx, s)
			answer.Options.Provider = own.Reference()
			return answer, err
		}
		return acting(posted("x", 1, on(abi.HookKindAfterCreate, "tell")), a)(p)
	})
}

// An action that fails before a step prevents it. After a step, the resource is recorded, but the update fails, and
// what follows is not done.
func TestActionsThatFail(t *testing.T) {
	c, s := newCrew(t)
	c.calling = func(context.Context) error { return errors.New("nobody hears it") }
	program := func(kinds ...enginetest.OptionsOf) enginetest.Program {
		return acting(func(p *enginetest.Run) error {
			if err := posted("x", 1, kinds...)(p); err != nil {
				return err
			}
			return custom("crew:index:Post", "next", enginetest.Props("place", "n"))(p)
		}, saying("a"), saying("b"))
	}
	_, err := s.Try(enginetest.Up, program(on(abi.HookKindBeforeCreate, "a", "b")))
	require.ErrorContains(t, err, `the before-create action "a" failed`)
	require.ErrorContains(t, err, "nobody hears it")
	require.Equal(t, []string{"call before-create a "}, c.read())
	require.Nil(t, s.Resource("p"))

	_, err = s.Try(enginetest.Up, program(on(abi.HookKindAfterCreate, "a", "b")))
	require.ErrorContains(t, err, `the after-create action "a" failed`)
	require.Equal(t, []string{"create x", "call after-create a "}, c.read())
	require.Equal(t, "id of x", s.Resource("p").ID)
	require.Nil(t, s.Resource("next"))
	for range s.Snapshot().Operations() {
		require.Fail(t, "an operation is pending")
	}
	var failed []string
	for _, e := range s.Events() {
		if f, ok := e.(engine.ActionFailed); ok {
			failed = append(failed, f.Action.Name+": "+f.Error)
		}
	}
	require.Len(t, failed, 1)
	require.Contains(t, failed[0], "nobody hears it")

	s.Up(program(on(abi.HookKindAfterCreate, "a", "b")))
	require.Equal(t, []string{"create n"}, c.read(), "it was for the creation")
}

// The end of the context ends an action, after whose step the resource is recorded.
func TestActionsAreCancelled(t *testing.T) {
	c, s := newCrew(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.calling = func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	up := func(_ context.Context, d enginetest.Deployment) (*engine.Result, error) { return enginetest.Up(ctx, d) }
	_, err := s.Try(up, acting(posted("x", 1, on(abi.HookKindAfterCreate, "a")), saying("a")))
	require.ErrorContains(t, err, "canceled")
	require.Equal(t, "id of x", s.Resource("p").ID)
}

// What cannot be done is refused before the resource changes.
func TestActionsAreRefused(t *testing.T) {
	for words, program := range map[string]enginetest.Program{
		`the before-delete hook "a" is an action`:      acting(posted("x", 1, on(abi.HookKindBeforeDelete, "a")), saying("a")),
		`the on-error hook "a" is an action`:           acting(posted("x", 1, on(abi.HookKindOnError, "a")), saying("a")),
		`the after-create hook "b" is not registered`:  acting(posted("x", 1, on(abi.HookKindAfterCreate, "b")), saying("a")),
		`the action "a" is registered twice`:           acting(nothing, saying("a"), saying("a")),
		`the hook "a" is registered twice`:             acting(hooked([]callback.Hook{new(diary).hook("a")}, nothing), saying("a")),
		`the action "x" names no function`:             acting(nothing, callback.Action{Name: "x"}),
		`the action "x" has nothing to run`:            acting(nothing, callback.Action{Name: "x", Function: "crew:index:call"}),
		`its arguments hold values that are not known`: acting(posted("x", 1, on(abi.HookKindBeforeCreate, "a")), action("a", func(callback.Step) property.Map { return enginetest.Props("text", property.Unknown) })),
		`a provider has no actions`:                    acting(custom("pulumi:providers:crew", "own", enginetest.Props(), on(abi.HookKindAfterCreate, "a")), saying("a")),
		`no action crew:index:cal`: acting(posted("x", 1, on(abi.HookKindBeforeCreate, "a")), callback.Action{
			Name: "a", Function: "crew:index:cal", Call: saying("a").Call,
		}),
	} {
		t.Run(words, func(t *testing.T) {
			c, s := newCrew(t)
			_, err := s.Try(enginetest.Up, program)
			require.ErrorContains(t, err, words)
			require.Empty(t, c.read())
			require.Nil(t, s.Resource("p"))
		})
	}
}

// An update with a plan runs the planned actions, with the planned arguments, as far as those were known.
func TestPlansBindActions(t *testing.T) {
	c, s := newCrew(t)
	text := "hello"
	tell := func() callback.Action {
		return action("tell", func(s callback.Step) property.Map {
			return enginetest.Props("text", property.Secret(property.String(text)), "code", s.New.Outputs.Get("code"))
		})
	}
	var plan *engine.Plan
	program := acting(posted("x", 1, on(abi.HookKindAfterCreate, "tell")), tell())
	draft := func(program enginetest.Program) string {
		s.Edit = func(d *enginetest.Deployment) { d.Providers, d.DraftPlan = c, true }
		result, err := s.Try(enginetest.Preview, program)
		require.NoError(t, err)
		var written string
		plan, written = s.Reread(result.Plan)
		s.Edit = func(d *enginetest.Deployment) { d.Providers, d.Plan = c, plan }
		return written
	}
	written := draft(program)
	require.Contains(t, written, `"name": "tell"`)
	require.Contains(t, written, `"event": "after-create"`)
	require.NotContains(t, written, "hello")

	for words, deviating := range map[string]enginetest.Program{
		"its action is none, and after-create tell (crew:index:call) was planned": acting(posted("x", 1), tell()),
		"its action is before-create tell (crew:index:call)":                      acting(posted("x", 1, on(abi.HookKindBeforeCreate, "tell")), tell()),
		"after-create other (crew:index:call) (73 bytes)":                         acting(posted("x", 1, on(abi.HookKindAfterCreate, "tell", "other")), tell(), saying("other")),
	} {
		_, err := s.Try(enginetest.Up, deviating)
		require.ErrorContains(t, err, words)
		require.Empty(t, c.read())
	}
	text = "goodbye"
	_, err := s.Try(enginetest.Up, program)
	require.ErrorContains(t, err, "its actions.tell.text is [secret]")
	require.NotContains(t, err.Error(), "goodbye")
	require.Equal(t, []string{"create x"}, c.read())

	s.Edit = func(d *enginetest.Deployment) { d.Providers = c }
	s.Up(nothing)
	c.read()
	text = "hello"
	draft(program)
	s.Up(program)
	require.Equal(t, []string{"create x", "call hello code of x"}, c.read())
	_, err = s.Try(enginetest.Up, acting(posted("x", 1, aroundChanges("tell")), tell()))
	require.NoError(t, err, "nothing is left to do, and no action runs")

	// Ephemeral arguments are in no plan.
	s.Edit = func(d *enginetest.Deployment) { d.Providers = c }
	s.Up(nothing)
	c.read()
	lending := enginetest.Program(func(p *enginetest.Run) error {
		token, err := callbacks(p).OpenEphemeral(p.Ctx, abi.MonitorInvokeRequest{Token: "crew:index:token", Args: enginetest.Props("role", "r")})
		if err != nil {
			return err
		}
		return acting(posted("x", 1, on(abi.HookKindAfterCreate, "tell")), action("tell", func(callback.Step) property.Map {
			return enginetest.Props("text", "t", "by", token.Result.Get("text"))
		}))(p)
	})
	require.NotContains(t, draft(lending), `"by"`)
	s.Up(lending)
	require.Equal(t, []string{"create x", "call t token of r"}, c.read())
	for _, e := range s.Events() {
		require.NotContains(t, fmt.Sprintf("%+v", e), "token of")
	}
}

// An action runs by itself for the resources as they are recorded. The program runs, and changes nothing.
func TestActionByItself(t *testing.T) {
	c, s := newCrew(t)
	program := func(rank int) enginetest.Program {
		return func(p *enginetest.Run) error {
			resp, err := p.Custom("crew:index:Post", "p", enginetest.Props("place", "x", "rank", rank))
			if err != nil {
				return err
			}
			return callbacks(p).RegisterAction(action("tell", func(s callback.Step) property.Map {
				require.Nil(t, s.Resource())
				return enginetest.Props("text", resp.Out("place"), "code", resp.Out("code"))
			}))
		}
	}
	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.Action = c, "tell" }
	_, err := s.Try(enginetest.Act, program(1))
	require.ErrorContains(t, err, `the action "tell" failed: its arguments hold values that are not known`)
	s.Up(program(1))
	require.Equal(t, []string{"create x"}, c.read())

	before := s.Resource("p")
	result, err := s.Try(enginetest.PreviewAct, program(2))
	require.NoError(t, err)
	require.Equal(t, 1, result.Actions)
	require.Empty(t, c.read())
	result, err = s.Try(enginetest.Act, program(2))
	require.NoError(t, err)
	require.Equal(t, engine.Result{Actions: 1}, engine.Result{Actions: result.Actions, Changes: result.Changes})
	require.Equal(t, []string{"call x code of x"}, c.read())
	require.Equal(t, before, s.Resource("p"))
	var done []engine.Event
	for _, e := range s.Events() {
		switch e := e.(type) {
		case engine.ActionDone:
			done = append(done, engine.ActionStarted{Action: e.Action})
		case engine.StepDone:
			require.Equal(t, engine.OpSame, e.Step.Op)
		}
	}
	require.Equal(t, []engine.Event{engine.ActionStarted{Action: engine.ActionInfo{Name: "tell", Function: "crew:index:call", Arguments: []engine.PropertyChange{
		{Path: "code", Kind: "add", New: "[secret]"}, {Path: "text", Kind: "add", New: `"x"`},
	}}}}, done)

	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.Action = c, "shout" }
	_, err = s.Try(enginetest.Act, program(2))
	require.ErrorContains(t, err, `the program has no action "shout": it has tell`)
	c.calling = func(context.Context) error { return errors.New("nobody hears it") }
	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.Action = c, "tell" }
	_, err = s.Try(enginetest.Act, program(2))
	require.ErrorContains(t, err, "nobody hears it")
}

// Actions after the creation of a component wait for its outputs, as hooks do.
func TestActionsOfComponents(t *testing.T) {
	c, s := newCrew(t)
	tell := action("tell", func(s callback.Step) property.Map { return enginetest.Props("text", s.New.Outputs.Get("of")) })
	s.Up(acting(func(p *enginetest.Run) error {
		g, err := p.Component("my:own:Group", "g", enginetest.Props(), on(abi.HookKindAfterCreate, "tell"))
		if err != nil {
			return err
		}
		if _, err := p.Child(g.URN, "crew:index:Post", "p", enginetest.Props("place", "x")); err != nil {
			return err
		}
		return p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: g.URN, Outputs: enginetest.Props("of", "all")})
	}, tell))
	require.Equal(t, []string{"create x", "call all "}, c.read())
}

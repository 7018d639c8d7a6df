package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// What a program says about a component reaches the module that makes it, and what the
// module says about a child reaches the state: the kit gives a child the options that it
// was itself given.
func TestOptionsReachComponents(t *testing.T) {
	loader := loadModules(t)
	stack := enginetest.NewStack(t, nil)
	stack.Edit = func(d *enginetest.Deployment) { d.Providers = loader }
	yes := true
	trigger := property.String("when this changes")
	var first enginetest.Resource
	stack.Up(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err != nil {
			return err
		}
		if first, err = p.Custom(echoType, "first", enginetest.Props("value", 1), kit); err != nil {
			return err
		}
		return mirrored(p, kit, abi.ResourceOptions{
			Protect: &yes, RetainOnDelete: &yes, DeleteBeforeReplace: &yes, DeletedWith: first.URN,
			Dependencies: []urn.URN{first.URN}, ReplaceWith: []urn.URN{first.URN},
			CustomTimeouts:          abi.CustomTimeouts{Create: 1, Update: 2, Delete: 3, Read: 4},
			AdditionalSecretOutputs: []string{"value"}, IgnoreChanges: []string{"a.b"}, ReplaceOnChanges: []string{"c[0]"},
			HideDiffs: []string{"d"}, ReplacementTrigger: &trigger,
		})
	})
	mirror := mirrorOf(t, stack)
	require.Equal(t, "all", mirror.Parent.Name())
	require.True(t, mirror.Protect)
	require.True(t, mirror.RetainOnDelete)
	require.Equal(t, first.URN, mirror.DeletedWith)
	require.Contains(t, mirror.Dependencies, first.URN)
	require.Contains(t, mirror.ReplaceWith, first.URN)
	require.Equal(t, &state.CustomTimeouts{Create: 1, Update: 2, Delete: 3, Read: 4}, mirror.CustomTimeouts)
	require.Equal(t, []string{"value"}, mirror.AdditionalSecretOutputs)
	require.Equal(t, []string{"a.b"}, mirror.IgnoreChanges)
	require.Equal(t, []string{"c[0]"}, mirror.ReplaceOnChanges)
	require.Len(t, mirror.HideDiff, 1)
	require.True(t, trigger.Equal(mirror.ReplacementTrigger))
}

// An alias that a program gives a component, and the module its child, has the child take
// over what bore that name.
func TestAliasesReachComponents(t *testing.T) {
	loader := loadModules(t)
	stack := enginetest.NewStack(t, nil)
	stack.Edit = func(d *enginetest.Deployment) { d.Providers = loader }
	stack.Up(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err != nil {
			return err
		}
		_, err = p.Custom(echoType, "earlier", property.Map{}, kit)
		return err
	})
	changes := stack.Up(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err != nil {
			return err
		}
		return mirrored(p, kit, abi.ResourceOptions{
			Aliases: []abi.Alias{{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "earlier", NoParent: true}}},
		})
	})
	require.Zero(t, changes.Delete)
	require.Equal(t, "made-of-earlier", mirrorOf(t, stack).ID)
}

// Hooks that a program registers run around the steps of what a module makes for it, where
// that names them.
func TestHooksReachWhatModulesMake(t *testing.T) {
	loader := loadModules(t)
	stack := enginetest.NewStack(t, nil)
	stack.Edit = func(d *enginetest.Deployment) { d.Providers = loader }
	var ran []string
	program := func(value string) enginetest.Program {
		return func(p *enginetest.Run) error {
			kit, err := asEcho(p)
			if err != nil {
				return err
			}
			program := p.Monitor.(callback.Monitor)
			var hooks []abi.HookBinding
			for kind := abi.HookKindBeforeCreate; kind <= abi.HookKindAfterDelete; kind++ {
				hooks = append(hooks, abi.HookBinding{Kind: kind, Names: []string{kind.String()}})
				if err := program.RegisterHook(callback.Hook{Name: kind.String(), Run: func(_ context.Context, s callback.Step) error {
					ran = append(ran, kind.String()+" "+s.Resource().URN.Name())
					return nil
				}}); err != nil {
					return err
				}
			}
			hooks = append(hooks, abi.HookBinding{Kind: abi.HookKindOnError, Names: []string{"on-error"}})
			if err := program.RegisterErrorHook(callback.ErrorHook{Name: "on-error", Run: func(_ context.Context, f callback.Failure) (bool, error) {
				ran = append(ran, "on-error")
				return false, nil
			}}); err != nil || value == "" {
				return err
			}
			return mirroredWith(p, kit, abi.ResourceOptions{Hooks: hooks}, value)
		}
	}
	for _, test := range []struct {
		value string
		ran   []string
	}{
		{"one", []string{"before-create all-mirror", "after-create all-mirror"}},
		{"two", []string{"before-update all-mirror", "after-update all-mirror"}},
		{"", []string{"before-delete all-mirror", "after-delete all-mirror"}},
	} {
		ran = nil
		stack.Up(program(test.value))
		require.Equal(t, test.ran, ran)
	}
	ran = nil
	_, err := stack.Try(enginetest.Up, program("broken"))
	require.ErrorContains(t, err, "it breaks")
	require.Equal(t, []string{"before-create all-mirror", "on-error"}, ran)
}

// mirrored registers a component that has a child with its own options.
func mirrored(p *enginetest.Run, kit func(*abi.ResourceOptions), options abi.ResourceOptions) error {
	return mirroredWith(p, kit, options, "one")
}

// mirroredWith does so with a value for the child.
func mirroredWith(p *enginetest.Run, kit func(*abi.ResourceOptions), options abi.ResourceOptions, value string) error {
	kit(&options)
	_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
		Type: mirrorType, Name: "all", Remote: true, Inputs: enginetest.Props("mirror", echoType, "value", value), Options: options,
	})
	return err
}

// mirrorOf is the component's child in the state.
func mirrorOf(t *testing.T, stack *enginetest.Stack) *state.Resource {
	t.Helper()
	st, err := stack.Open(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close(t.Context())) }()
	for _, r := range st.Snapshot().Resources() {
		if r.URN.Name() == "all-mirror" {
			return r
		}
	}
	t.Fatal("the component has no child")
	return nil
}

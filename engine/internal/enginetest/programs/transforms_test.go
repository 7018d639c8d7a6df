package programs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// appending adds its letter to the input "by" of all that it transforms.
func appending(letter string) callback.ResourceTransform {
	return func(_ context.Context, _ callback.Identity, d *callback.Declaration) error {
		by, _ := d.Inputs.Get("by").AsString()
		d.Inputs = d.Inputs.With("by", property.String(by+letter))
		return nil
	}
}

func register(p *enginetest.Run, custom bool, typ, name string, parent urn.URN, own ...callback.ResourceTransform) (enginetest.Resource, error) {
	resp, err := callbacks(p).RegisterTransformed(p.Ctx, abi.RegisterResourceRequest{
		Type: typ, Name: name, Custom: custom, Parent: parent, Inputs: enginetest.Props("by", ""),
	}, own...)
	return enginetest.Resource{RegisterResourceResponse: resp}, err
}

// by is the order in which transforms were applied to the recorded resource.
func by(s *enginetest.Stack, name string) string {
	text, _ := s.Resource(name).Inputs.Get("by").AsString()
	return text
}

// A resource's own transforms come first, then those of its ancestors from the nearest
// on, then those of the stack; at each place in the order of their registration. They
// are for what is registered from then on.
func TestOrderOfTransforms(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		if _, err := register(p, true, enginetest.Plain, "before", ""); err != nil {
			return err
		}
		callbacks(p).RegisterStackTransform(appending("S"))
		callbacks(p).RegisterStackTransform(appending("T"))
		outer, err := register(p, false, "test:index:Group", "outer", "", appending("o"))
		if err != nil {
			return err
		}
		inner, err := register(p, false, "test:index:Group", "inner", outer.URN, appending("i"))
		if err != nil {
			return err
		}
		bare, err := register(p, false, "test:index:Group", "bare", inner.URN)
		if err != nil {
			return err
		}
		_, errA := register(p, true, enginetest.Plain, "a", bare.URN, appending("a"), appending("b"))
		_, errB := register(p, true, enginetest.Plain, "beside", "")
		return errors.Join(errA, errB)
	})
	for name, want := range map[string]string{
		"before": "", "outer": "oST", "inner": "ioST", "bare": "ioST", "a": "abioST", "beside": "ST",
	} {
		require.Equal(t, want, by(s, name), name)
	}
}

// Transforms change inputs and options, and say what the inputs come from; what the
// resource is they are only told.
func TestWhatTransformsChange(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	yes := true
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props())
		resp, errC := callbacks(p).RegisterTransformed(p.Ctx, abi.RegisterResourceRequest{
			Type: enginetest.Plain, Name: "c", Custom: true, Parent: p.Root, Inputs: enginetest.Props("from", "a", "gone", "x", "kept", "y"),
			PropertyDependencies: []abi.PropertyDependency{{Key: "from", URNs: []urn.URN{a.URN}}, {Key: "gone", URNs: []urn.URN{a.URN}}},
		}, func(_ context.Context, id callback.Identity, d *callback.Declaration) error {
			require.Equal(t, callback.Identity{Type: enginetest.Plain, Name: "c", Custom: true, Parent: p.Root}, id)
			require.Equal(t, []string{string(a.URN)}, d.Inputs.Get("from").Dependencies())
			d.Inputs = d.Inputs.Without("gone").With("copy", d.Inputs.Get("from")).With("kept", property.Secret(property.String("z")))
			d.Options.Protect = &yes
			d.Options.DeletedWith = a.URN
			return nil
		})
		require.Equal(t, "c", resp.URN.Name())
		return errors.Join(errB, errC)
	})
	a, c := s.Resource("a"), s.Resource("c")
	require.Equal(t, enginetest.Props("from", "a", "copy", "a", "kept", property.Secret(property.String("z"))), c.Inputs)
	require.Equal(t, map[string][]urn.URN{"from": {a.URN}, "copy": {a.URN}}, c.PropertyDependencies)
	require.True(t, c.Protect)
	require.Equal(t, a.URN, c.DeletedWith)
}

// An error of a transform refuses the registration before the provider is asked.
func TestTransformFails(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := register(p, true, enginetest.Plain, "a", "", func(context.Context, callback.Identity, *callback.Declaration) error {
			return errors.New("every resource needs an owner")
		})
		return err
	}))
	require.ErrorContains(t, err, `transform test:index:Plain "a": every resource needs an owner`)
	require.Empty(t, s.Cloud.Calls())
}

// A component that its provider makes is transformed once, before the provider sees it,
// though the provider registers it too. What the provider registers below it is
// transformed like all else.
func TestTransformsOfRemoteComponents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	var given string
	s.Cloud.Construct = func(ctx context.Context, m abi.Monitor, req abi.ConstructRequest) (abi.ConstructResponse, error) {
		given, _ = req.Inputs.Get("by").AsString()
		g, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
			Type: req.Type, Name: req.Name, Parent: req.Parent, Inputs: req.Inputs, Options: req.Options,
		})
		if err != nil {
			return abi.ConstructResponse{}, err
		}
		_, err = m.RegisterResource(ctx, abi.RegisterResourceRequest{
			Type: enginetest.Plain, Name: "child", Custom: true, Parent: g.URN, Inputs: enginetest.Props("by", ""),
		})
		return abi.ConstructResponse{URN: g.URN}, err
	}
	s.Up(func(p *enginetest.Run) error {
		callbacks(p).RegisterStackTransform(appending("S"))
		_, err := callbacks(p).RegisterTransformed(p.Ctx, abi.RegisterResourceRequest{
			Type: "test:index:Site", Name: "site", Remote: true, Inputs: enginetest.Props("by", ""),
		}, appending("o"))
		return err
	})
	require.Equal(t, "oS", given)
	require.Equal(t, "oS", by(s, "site"))
	require.Equal(t, "oS", by(s, "child"), "its parent's transform, then the stack's")
}

// Transforms can bind hooks, which is how a program puts hooks on all resources.
func TestTransformsBindHooks(t *testing.T) {
	log := new(diary)
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(hooked([]callback.Hook{log.hook("log")}, func(p *enginetest.Run) error {
		callbacks(p).RegisterStackTransform(func(_ context.Context, id callback.Identity, d *callback.Declaration) error {
			if id.Custom {
				d.Options.Hooks = append(d.Options.Hooks, abi.HookBinding{Kind: abi.HookKindAfterCreate, Names: []string{"log"}})
			}
			return nil
		})
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return err
	}))
	require.Equal(t, []string{"after-create a"}, log.read())
}

// Calls of functions are transformed by the stack's transforms alone, whoever makes them.
func TestInvokeTransforms(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	var asked []property.Map
	s.Cloud.Invoke = func(req abi.InvokeRequest) (abi.InvokeResponse, error) {
		asked = append(asked, req.Args)
		return abi.InvokeResponse{Result: req.Args}, nil
	}
	s.Up(func(p *enginetest.Run) error {
		m := callbacks(p)
		m.RegisterStackInvokeTransform(func(_ context.Context, token string, c *callback.FunctionCall) error {
			c.Args = c.Args.With("token", property.String(token))
			return nil
		})
		m.RegisterStackInvokeTransform(func(_ context.Context, _ string, c *callback.FunctionCall) error {
			if c.Args.Has("refused") {
				return errors.New("not this one")
			}
			return nil
		})
		_, err := m.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:get", Args: enginetest.Props("a", 1)})
		require.NoError(t, err)
		_, err = m.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:get", Args: enginetest.Props("refused", true)})
		require.ErrorContains(t, err, "function test:index:get: transform: not this one")
		return nil
	})
	require.Equal(t, []property.Map{enginetest.Props("a", 1, "token", "test:index:get")}, asked)
}

package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// withToken is a cloud whose providers work only while their token is the one given.
func withToken(valid *string) *enginetest.Cloud {
	cloud := enginetest.NewCloud()
	cloud.Configure = func(req abi.ConfigureRequest) error {
		if token, _ := req.Inputs.Get("token").Plain().AsString(); token != *valid {
			return errors.New("the token has expired")
		}
		return nil
	}
	return cloud
}

func withTokenOf(token string, more func(p *enginetest.Run, use enginetest.OptionsOf) error) enginetest.Program {
	return func(p *enginetest.Run) error {
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("token", token))
		if err != nil {
			return err
		}
		use := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
		if _, err := p.Custom(enginetest.Plain, "a", enginetest.Props("size", 1), use); err != nil {
			return err
		}
		return more(p, use)
	}
}

func nothingMore(*enginetest.Run, enginetest.OptionsOf) error { return nil }

func running(program enginetest.Program) func(*enginetest.Deployment) {
	return func(d *enginetest.Deployment) { d.Program, d.RunProgram = program, true }
}

// The state holds a token that has expired: a refresh or destruction that runs the
// program uses the one that it gives.
func TestRunProgramConfiguresProvidersAnew(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(s *enginetest.Stack) (*engine.Result, error)
	}{
		{"refresh", func(s *enginetest.Stack) (*engine.Result, error) { return s.Try(enginetest.Refresh, nil) }},
		{"preview of a refresh", func(s *enginetest.Stack) (*engine.Result, error) { return s.Try(enginetest.PreviewRefresh, nil) }},
		{"destroy", func(s *enginetest.Stack) (*engine.Result, error) { return s.Try(enginetest.Destroy, nil) }},
		{"preview of a destruction", func(s *enginetest.Stack) (*engine.Result, error) { return s.Try(enginetest.PreviewDestroy, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			valid := "one"
			s := enginetest.NewStack(t, withToken(&valid))
			s.Up(withTokenOf("one", nothingMore))
			valid = "two"
			_, err := c.run(s)
			require.ErrorContains(t, err, "the token has expired")
			s.Edit = running(withTokenOf("two", nothingMore))
			_, err = c.run(s)
			require.NoError(t, err)
			if c.name == "destroy" {
				require.Zero(t, s.Cloud.Objects())
				require.Zero(t, s.Snapshot().Len())
			}
		})
	}
}

// In a refresh the program creates and changes nothing but providers. What it has
// that does not exist is not known to it; what it does not have is read as well.
func TestRefreshWithProgramReadsAndCreatesNothing(t *testing.T) {
	valid := "one"
	s := enginetest.NewStack(t, withToken(&valid))
	s.Up(withTokenOf("one", func(p *enginetest.Run, use enginetest.OptionsOf) error {
		_, errOld := p.Custom(enginetest.Plain, "old", enginetest.Props("size", 1), use)
		_, errGone := p.Custom(enginetest.Plain, "gone", enginetest.Props("size", 1), use)
		return errors.Join(errOld, errGone)
	}))
	s.Cloud.Calls()
	two := func(m property.Map) property.Map { return m.With("size", property.Number(2)) }
	s.Cloud.Change("a-1", two)
	s.Cloud.Change("old-2", two)
	s.Cloud.Change("gone-3", nil)
	var size, unknown, gone property.Value
	s.Edit = running(func(p *enginetest.Run) error {
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("token", "one"))
		if err != nil {
			return err
		}
		use := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
		a, errA := p.Custom(enginetest.Plain, "a2", enginetest.Props("size", 9), use, aliased(enginetest.AliasName("a")))
		size = a.State.Get("size")
		g, errG := p.Component(enginetest.Group, "new-group", enginetest.Props())
		fresh, errF := p.Child(g.URN, enginetest.Plain, "new", enginetest.Props("size", a.Out("made")), use)
		unknown = fresh.Out("id")
		lost, errL := p.Custom(enginetest.Plain, "gone", enginetest.Props("size", 1), use)
		gone = lost.Out("id")
		other, errO := p.Custom(enginetest.ProviderType, "other", enginetest.Props("token", fresh.Out("id")))
		_, errU := p.Custom(enginetest.Plain, "user", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = other.Reference() })
		_, errR := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
			ID: "old-2", Type: enginetest.Plain, Name: "read", Options: abi.ResourceOptions{Provider: prov.Reference()},
		})
		return errors.Join(errA, errG, errF, errL, errO, errU, errR, p.Outputs(enginetest.Props("made", fresh.Out("id"))))
	})
	changes, err := s.Try(enginetest.Refresh, nil)
	require.NoError(t, err)
	require.Equal(t, 1, changes.Changes.Delete)
	require.Empty(t, s.Cloud.Calls())
	require.Equal(t, property.Number(2), size, "the program is told what was read")
	require.True(t, unknown.ContainsUnknowns())
	require.True(t, gone.ContainsUnknowns())
	require.Equal(t, property.Number(2), s.Resource("a2").Outputs.Get("size"), "aliases are followed")
	require.Equal(t, property.Number(2), s.Resource("old").Outputs.Get("size"), "what is not registered is read too")
	for _, name := range []string{"new-group", "new", "gone", "other", "user", "read"} {
		require.Nil(t, s.Resource(name), name)
	}
}

// In a destruction the program sees its resources as they are; then all go.
func TestDestroyWithProgramDeletesEverything(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Calls()
	s.Edit = running(func(p *enginetest.Run) error {
		require.True(t, p.Context.DryRun, "values may be unknown")
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", "2"))
		if err != nil {
			return err
		}
		require.Equal(t, property.String("1"), a.State.Get("key"))
		_, err = p.Custom(enginetest.Plain, "new", enginetest.Props("key", a.Out("made")))
		return err
	})
	require.Equal(t, 4, s.Destroy().Delete)
	require.Equal(t, []string{"delete c-3", "delete b-2", "delete a-1"}, s.Cloud.Calls())

	s.Edit = nil
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	stop := errors.New("the program fails")
	s.Edit = running(func(*enginetest.Run) error { return stop })
	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorIs(t, err, stop)
	require.Equal(t, 3, s.Cloud.Objects(), "a program that fails deletes nothing")
}

// A destruction that runs the program goes by the options that it has now.
func TestDestroyWithProgramGoesByItsOptions(t *testing.T) {
	program := func(protect, retain bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(enginetest.Group, "g", enginetest.Props(), func(o *abi.ResourceOptions) { o.Protect = &protect })
			if err != nil {
				return err
			}
			_, err = p.Child(g.URN, enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.RetainOnDelete = &retain })
			return err
		}
	}
	for _, test := range []struct {
		name                           string
		recorded, protect, retain      bool
		excludeProtected, left, failed bool
	}{
		{name: "no longer protected", recorded: true},
		{name: "protected by now", protect: true, failed: true, left: true},
		{name: "protected by now and excluded", protect: true, excludeProtected: true, left: true},
		{name: "retained by now", retain: true, left: true},
		{name: "as it was", recorded: true, protect: true, failed: true, left: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program(test.recorded, false))
			s.Edit = func(d *enginetest.Deployment) {
				running(program(test.protect, test.retain))(d)
				d.Selection.ExcludeProtected = test.excludeProtected
			}
			for _, run := range []enginetest.Operation{enginetest.PreviewDestroy, enginetest.Destroy} {
				_, err := s.Try(run, nil)
				require.Equal(t, test.failed, err != nil, "%v", err)
			}
			require.Equal(t, test.left, s.Cloud.Objects() > 0)
		})
	}
}

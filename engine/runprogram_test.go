package engine_test

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
	cloud := newCloud()
	cloud.Configure = func(req abi.ConfigureRequest) error {
		if token, _ := req.Inputs.Get("token").Plain().AsString(); token != *valid {
			return errors.New("the token has expired")
		}
		return nil
	}
	return cloud
}

func withTokenOf(token string, more func(p *enginetest.Run, use optionsOf) error) enginetest.Program {
	return func(p *enginetest.Run) error {
		prov, err := p.Custom(providerType, "mine", props("token", token))
		if err != nil {
			return err
		}
		use := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
		if _, err := p.Custom(plain, "a", props("size", 1), use); err != nil {
			return err
		}
		return more(p, use)
	}
}

func nothingMore(*enginetest.Run, optionsOf) error { return nil }

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
	s.Up(withTokenOf("one", func(p *enginetest.Run, use optionsOf) error {
		_, errOld := p.Custom(plain, "old", props("size", 1), use)
		_, errGone := p.Custom(plain, "gone", props("size", 1), use)
		return errors.Join(errOld, errGone)
	}))
	s.Cloud.Calls()
	two := func(m property.Map) property.Map { return m.With("size", property.Number(2)) }
	s.Cloud.Change("a-1", two)
	s.Cloud.Change("old-2", two)
	s.Cloud.Change("gone-3", nil)
	var size, unknown, gone property.Value
	s.Edit = running(func(p *enginetest.Run) error {
		prov, err := p.Custom(providerType, "mine", props("token", "one"))
		if err != nil {
			return err
		}
		use := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
		a, errA := p.Custom(plain, "a2", props("size", 9), use, aliased(aliasName("a")))
		size = a.State.Get("size")
		g, errG := p.Component(group, "new-group", props())
		fresh, errF := p.Child(g.URN, plain, "new", props("size", a.Out("made")), use)
		unknown = fresh.Out("id")
		lost, errL := p.Custom(plain, "gone", props("size", 1), use)
		gone = lost.Out("id")
		other, errO := p.Custom(providerType, "other", props("token", fresh.Out("id")))
		_, errU := p.Custom(plain, "user", props(), func(o *abi.ResourceOptions) { o.Provider = other.Reference() })
		_, errR := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
			ID: "old-2", Type: plain, Name: "read", Options: abi.ResourceOptions{Provider: prov.Reference()},
		})
		return errors.Join(errA, errG, errF, errL, errO, errU, errR, p.Outputs(props("made", fresh.Out("id"))))
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
	s := enginetest.NewStack(t, newCloud())
	s.Up(chain(plain, "1"))
	s.Cloud.Calls()
	s.Edit = running(func(p *enginetest.Run) error {
		require.True(t, p.Context.DryRun, "values may be unknown")
		a, err := p.Custom(plain, "a", props("key", "2"))
		if err != nil {
			return err
		}
		require.Equal(t, property.String("1"), a.State.Get("key"))
		_, err = p.Custom(plain, "new", props("key", a.Out("made")))
		return err
	})
	require.Equal(t, 4, s.Destroy().Delete)
	require.Equal(t, []string{"delete c-3", "delete b-2", "delete a-1"}, s.Cloud.Calls())

	s.Edit = nil
	s.Up(chain(plain, "1"))
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
			g, err := p.Component(group, "g", props(), func(o *abi.ResourceOptions) { o.Protect = &protect })
			if err != nil {
				return err
			}
			_, err = p.Child(g.URN, plain, "a", props(), func(o *abi.ResourceOptions) { o.RetainOnDelete = &retain })
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
			s := enginetest.NewStack(t, newCloud())
			s.Up(program(test.recorded, false))
			s.Edit = func(d *enginetest.Deployment) {
				running(program(test.protect, test.retain))(d)
				d.Selection.ExcludeProtected = test.excludeProtected
			}
			for _, run := range []operation{enginetest.PreviewDestroy, enginetest.Destroy} {
				_, err := s.Try(run, nil)
				require.Equal(t, test.failed, err != nil, "%v", err)
			}
			require.Equal(t, test.left, s.Cloud.Objects() > 0)
		})
	}
}

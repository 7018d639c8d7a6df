package programs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// missingKey makes providers that want a token.
type missingKey struct{ *enginetest.Cloud }

func (m missingKey) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := m.Cloud.Load(ctx, spec)
	return wantsToken{p}, err
}

type wantsToken struct{ abi.Provider }

func (wantsToken) Configure(context.Context, abi.ConfigureRequest) error {
	return &abi.Error{
		Kind: abi.ErrorKindInvalidArgument, Message: "configuration is missing",
		MissingKeys: []abi.MissingKey{{Name: "token", Description: "the token to use"}},
	}
}

func TestRefreshRecordsWhatChanged(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	require.Equal(t, 0, s.Refresh().Total())
	s.Cloud.Change("a-1", func(m property.Map) property.Map { return m.With("size", property.Number(2)) })
	require.Equal(t, engine.Changes{Update: 1}, s.Refresh())
	require.Equal(t, property.Number(2), s.Resource("a").Outputs.Get("size"))
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(enginetest.One(enginetest.Props("size", 1))), "the program's wish is restored")
}

func TestRefreshRemovesWhatIsGone(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Calls()
	s.Cloud.Change("a-1", nil)
	require.Equal(t, engine.Changes{Delete: 1, Same: 2}, s.Refresh())
	require.Nil(t, s.Resource("a"))
	require.Empty(t, s.Resource("b").Dependencies, "nothing depends on what is gone")
	require.Equal(t, engine.Changes{Same: 2, Create: 1, Update: 1}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
}

func TestReadUsesAnObjectThatTheStackDoesNotOwn(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 7)))
	other := enginetest.NewStack(t, s.Cloud)
	program := enginetest.Program(func(p *enginetest.Run) error {
		resp, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: "a-1", Type: enginetest.Plain, Name: "found"})
		if err != nil {
			return err
		}
		return p.Outputs(enginetest.Props("size", resp.State.Get("size")))
	})
	require.Equal(t, engine.Changes{Create: 1, Read: 1}, other.Up(program))
	require.True(t, other.Resource("found").External)
	require.Equal(t, property.Number(7), other.Resource("proj-dev").Outputs.Get("size"))
	s.Cloud.Calls()
	other.Destroy()
	require.Empty(t, s.Cloud.Calls(), "what the stack does not own, it does not delete")

	missing := enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: "a-99", Type: enginetest.Plain, Name: "found"})
		return err
	})
	_, err := other.Try(enginetest.Up, missing)
	require.ErrorContains(t, err, `no test:index:Plain with ID "a-99" exists`)
}

func TestImportTakesOverAnObject(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 7)))
	other := enginetest.NewStack(t, s.Cloud)
	importing := func(o *abi.ResourceOptions) { o.ImportID = "a-1" }

	_, err := other.Try(enginetest.Up, enginetest.One(enginetest.Props("size", 8), importing))
	require.ErrorContains(t, err, "size: is 7, the program says 8")
	require.Nil(t, other.Resource("a"))

	s.Cloud.Calls()
	require.Equal(t, 1, other.Up(enginetest.One(enginetest.Props("size", 7), importing)).Create)
	require.Empty(t, s.Cloud.Calls())
	require.Equal(t, "a-1", other.Resource("a").ID)
	require.Equal(t, 0, other.Up(enginetest.One(enginetest.Props("size", 7), importing)).Total(), "it is imported once")
	require.Equal(t, 0, other.Up(enginetest.One(enginetest.Props("size", 7))).Total(), "and managed from then on")
}

func TestGracefulStopFinishesWhatRuns(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	stop := make(chan struct{})
	s.Edit = func(d *enginetest.Deployment) { d.Stop = stop }
	stopped := false
	s.Cloud.Hook = func(call string) error {
		if call == "create a" && !stopped {
			stopped = true
			close(stop)
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "stopped")
	require.NotNil(t, s.Resource("a"), "the step that ran was finished and recorded")
	require.Equal(t, 1, s.Cloud.Objects(), "and no other was started")
	s.Edit = nil
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	require.Equal(t, 3, s.Cloud.Objects())
}

func TestCancelledContextEndsTheRun(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	ctx, cancel := context.WithCancel(context.Background())
	s.Cloud.Hook = func(string) error {
		cancel()
		return nil
	}
	_, err := s.Try(func(_ context.Context, d enginetest.Deployment) (*engine.Result, error) {
		return enginetest.Up(ctx, d)
	}, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, s.Resource("a"))
}

package programs_test

import (
	"context"
	"errors"
	"strings"
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

// Who asks whether an object exists registers nothing.
func TestWhetherAnObjectExists(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 7)))
	other := enginetest.NewStack(t, s.Cloud)
	ask := func(id string, then func(exists, known bool, err error)) enginetest.Program {
		return func(p *enginetest.Run) error {
			then(callbacks(p).Exists(p.Ctx, abi.ReadResourceRequest{ID: id, Type: enginetest.Plain, Properties: enginetest.Props("size", 7)}))
			return nil
		}
	}
	answers := func(wantExists, wantKnown bool) func(exists, known bool, err error) {
		return func(exists, known bool, err error) {
			require.NoError(t, err)
			require.Equal(t, []bool{wantExists, wantKnown}, []bool{exists, known})
		}
	}
	for id, exists := range map[string]bool{"a-1": true, "a-99": false} {
		other.Preview(ask(id, answers(exists, true)))
		other.Up(ask(id, answers(exists, true)))
	}
	for _, res := range other.Snapshot().Resources() {
		require.NotEqual(t, enginetest.Plain, res.Type)
	}
	other.Preview(ask("", answers(false, false)))
	other.Up(ask("", func(_, _ bool, err error) {
		require.EqualError(t, err, `existence of test:index:Plain "": its ID is empty, or its properties hold unknown values`)
	}))
	other.Up(func(p *enginetest.Run) error {
		_, _, err := callbacks(p).Exists(p.Ctx, abi.ReadResourceRequest{ID: "x", Type: "Plain"})
		require.ErrorContains(t, err, `existence of Plain "x": invalid resource type "Plain"`)
		return nil
	})

	for cause, then := range map[error]func(exists, known bool, err error){
		errors.New("no way"): func(_, _ bool, err error) { require.ErrorContains(t, err, "no way") },
		&abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: "a-1"}}: answers(true, true),
		&abi.Error{Kind: abi.ErrorKindUnimplemented, Message: "nobody reads it"}:            answers(true, true),
	} {
		s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) { return abi.ReadResponse{}, cause }
		s.Cloud.Exists = func(r abi.ExistsRequest) (abi.ExistsResponse, error) {
			return abi.ExistsResponse{Exists: r.ID == "a-1"}, nil
		}
		other.Up(ask("a-1", then))
	}
}

// What is read has the ID by which its provider knows it.
func TestWhatAReadAnswers(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Read = func(r abi.ReadRequest) (abi.ReadResponse, error) {
		if r.ID == "gone" {
			return abi.ReadResponse{}, nil
		}
		return abi.ReadResponse{ID: strings.ToUpper(r.ID), State: enginetest.Props("size", 7)}, nil
	}
	var resp abi.RegisterResourceResponse
	read := func(id string) enginetest.Program {
		return func(p *enginetest.Run) (err error) {
			resp, err = callbacks(p).Read(p.Ctx, abi.ReadResourceRequest{ID: id, Type: enginetest.Plain, Name: "found"})
			return err
		}
	}
	for _, do := range []func(enginetest.Program) engine.Changes{s.Preview, s.Up} {
		do(read("a-1"))
		require.Equal(t, "A-1", resp.ID)
		require.Equal(t, abi.RegistrationResultSuccess, resp.Result)
		require.Equal(t, property.Number(7), resp.State.Get("size"))
	}
	s.Preview(read(""))
	require.Empty(t, resp.ID, "it is not known yet")
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, read("gone"))
	require.Error(t, err)
	require.Equal(t, abi.RegistrationResultFailed, resp.Result)
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

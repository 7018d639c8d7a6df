package terminaltest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/testkit/terminaltest"
)

// cloud is a provider in the process, which takes no time, so that all that is measured is the engine and the display.
type cloud struct{ abi.Unimplemented }

func (cloud) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return cloud{}, nil }

func (cloud) Create(_ context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: r.Name, State: r.Inputs}, nil
}

// BenchmarkRunOfTenThousand compares a run that nobody sees with one that is shown: on a terminal with its plan, in a
// pipe, and as JSON. Each creates 10,000 resources in memory.
func BenchmarkRunOfTenThousand(b *testing.B) {
	program := goprogram.Func(func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
		for i := range 10_000 {
			if _, err := s.Resource(ctx, goprogram.Declaration{Type: "demo:index:Thing", Name: fmt.Sprintf("thing%d", i)}); err != nil {
				return property.Map{}, err
			}
		}
		return property.Map{}, nil
	})
	deployment := func(b *testing.B, events func(engine.Event)) engine.Deployment {
		keys := secrets.Keys{
			LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, KeyMade: func(string) {},
			ConfigDir: func() (string, error) { return b.TempDir(), nil },
		}
		store, name := new(memstore.Store), state.StackName{Project: "demo", Name: "dev"}
		require.NoError(b, state.Create(b.Context(), store, name, keys))
		stack, err := state.Open(b.Context(), store, name, keys, state.Holder{PID: os.Getpid(), Command: "up"})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, stack.Close(context.Background())) })
		return engine.Deployment{Project: name.Project, Stack: name.Name, State: stack, Providers: cloud{}, Events: events}
	}
	var plan display.Plan
	_, err := engine.Preview(b.Context(), deployment(b, plan.Event), engine.Up{Program: program})
	require.NoError(b, err)
	piped := func() *display.Output { return display.NewOutput(io.Discard, nil) }
	for _, way := range []struct {
		name string
		show func(b *testing.B) display.Display
	}{
		{"unseen", func(*testing.B) display.Display { return nil }},
		{"terminal", func(b *testing.B) display.Display {
			out := display.NewOutput(terminaltest.New(b, 120, 40).TTY, nil)
			return display.NewText(out, piped(), display.Options{Plan: &plan})
		}},
		{"piped", func(*testing.B) display.Display { return display.NewText(piped(), piped(), display.Options{}) }},
		{"json", func(*testing.B) display.Display { return display.NewJSON(piped()) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				shown, events := way.show(b), func(engine.Event) {}
				if shown != nil {
					events = shown.Event
				}
				d := deployment(b, events)
				b.StartTimer()
				_, err := engine.Run(b.Context(), d, engine.Up{Program: program})
				if shown != nil {
					shown.Close(err) // which waits for the terminal
				}
				require.NoError(b, err)
			}
		})
	}
}

package programs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// calls returns the number of calls that each provider was charged with, and of those
// that failed.
func calls(s *enginetest.Stack) (made, failed map[string]int) {
	made, failed = make(map[string]int), make(map[string]int)
	for _, e := range s.Events() {
		if costs, ok := e.(engine.ProviderCosts); ok {
			for _, m := range costs.Methods {
				made[costs.URN.Name()+" "+m.Method] = m.Calls
				if m.Failures > 0 {
					failed[costs.URN.Name()+" "+m.Method] = m.Failures
				}
			}
		}
	}
	return made, failed
}

// Every call of a provider is counted, for the provider and for the step that it was
// made for.
func TestCostsOfCalls(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := enginetest.Program(func(p *enginetest.Run) error {
		own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
		return errors.Join(err, enginetest.One(enginetest.Props("key", "1"))(p))
	})
	s.Up(program)
	made, failed := calls(s)
	require.Empty(t, failed)
	for _, provider := range []string{"own", "default"} {
		for call, n := range map[string]int{"handshake": 1, "check-config": 1, "configure": 1, "check": 1, "create": 1} {
			require.Equal(t, n, made[provider+" "+call], "%s %s", provider, call)
		}
	}
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Resource == enginetest.Plain {
			require.Equal(t, 2, done.Cost.Calls, "a check and a creation")
		}
	}

	s.Cloud.Hook = func(string) error { return errors.New("no") }
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props("key", "2")))
	require.Error(t, err)
	made, failed = calls(s)
	require.Equal(t, map[string]int{"default update": 1}, failed)
	require.Equal(t, 1, made["default diff"])
	require.Zero(t, made["own check"])
	for _, e := range s.Events() {
		if f, ok := e.(engine.StepFailed); ok {
			require.Equal(t, 3, f.Cost.Calls, "a check, a comparison, and an update")
		}
	}
	s.Cloud.Hook = nil
	s.Destroy()
	made, _ = calls(s)
	require.Equal(t, 1, made["default delete"])
	require.Equal(t, 1, made["own delete"])
}

// measuring makes providers that measure their calls themselves.
type measuring struct{ *enginetest.Cloud }

func (m measuring) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := m.Cloud.Load(ctx, spec)
	return measured{p}, err
}

type measured struct{ abi.Provider }

func (measured) Measured() map[string]abi.Measure {
	return map[string]abi.Measure{"create": {BySchema: 5, Fuel: 7, BytesIn: 2, BytesOut: 3}, "cancel": {Fuel: 1}}
}

// What providers measure themselves is told with the calls.
func TestCostsThatProvidersMeasure(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.Providers = measuring{s.Cloud} }
	s.Up(enginetest.One(enginetest.Props()))
	for _, e := range s.Events() {
		if costs, ok := e.(engine.ProviderCosts); ok {
			require.Equal(t, "test", costs.Package)
			for _, m := range costs.Methods {
				require.Equal(t, m.Method == "create", m.BySchema == 5 && m.Fuel == 7 && m.BytesIn == 2 && m.BytesOut == 3, m.Method)
				require.GreaterOrEqual(t, m.Microseconds, m.LongestMicroseconds)
			}
		}
	}
}

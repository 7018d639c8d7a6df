package goprogram_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/program/goprogram"
)

// counter is a provider with a function that counts to three, and knows no secrets.
type counter struct {
	demo
	next, closed int
}

func (c *counter) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return c, nil }

func (c *counter) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "demo"}, nil
}

func (c *counter) StreamInvoke(_ context.Context, r abi.InvokeRequest) (abi.StreamHandle, error) {
	if r.Args.ContainsSecrets() {
		return 0, errors.New("a secret was passed on")
	}
	c.next = 0
	return 7, nil
}

func (c *counter) StreamNext(context.Context, abi.StreamHandle) (abi.StreamItem, error) {
	c.next++
	if c.next > 3 {
		return abi.StreamItem{}, errors.New("there is no four")
	}
	result := enginetest.Props("n", c.next)
	return abi.StreamItem{Result: &result}, nil
}

func (c *counter) StreamClose(context.Context, abi.StreamHandle) error {
	c.closed++
	return nil
}

// The results of a function come one by one, no sooner than the program asks for them. An error ends
// them; a program that has enough closes the stream.
func TestResultsComeOneByOne(t *testing.T) {
	provider := &counter{}
	count := func(args property.Map, most int) (results []property.Value, err error) {
		stack := enginetest.NewStack(t, enginetest.NewCloud())
		stack.Edit = func(d *enginetest.Deployment) { d.Providers = provider }
		_, failed := stack.Try(enginetest.Up, goprogram.Func(func(ctx context.Context, s *goprogram.Stack) (outputs property.Map, _ error) {
			for v, e := range s.InvokeStream(ctx, "demo:index:count", args, abi.FunctionOptions{}) {
				if e != nil {
					err = e
					continue
				}
				results = append(results, v)
				require.Equal(t, len(results), provider.next)
				if len(results) == most {
					break
				}
			}
			return outputs, nil
		}))
		require.NoError(t, failed)
		return results, err
	}

	results, err := count(property.Map{}, 2)
	require.NoError(t, err)
	require.Equal(t, []property.Value{property.Object(enginetest.Props("n", 1)), property.Object(enginetest.Props("n", 2))}, results)
	require.Equal(t, 1, provider.closed)

	results, err = count(property.Map{}, 0)
	require.ErrorContains(t, err, "function demo:index:count: there is no four")
	require.Len(t, results, 3)
	require.Equal(t, 1, provider.closed)

	results, err = count(enginetest.Props("key", property.Secret(property.String("swordfish"))), 1)
	require.NoError(t, err)
	require.True(t, results[0].ContainsSecrets())

	_, err = count(enginetest.Props("key", property.Unknown), 1)
	require.ErrorContains(t, err, "function demo:index:count: its arguments hold unknown values")
}

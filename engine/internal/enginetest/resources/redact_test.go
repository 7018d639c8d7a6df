package resources_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/redact"
)

// Events tell no text that the deployment knows to be secret, wherever it stands and whoever says
// it. Each way by which a secret becomes known is tried on its own.
func TestEventsTellNoSecrets(t *testing.T) {
	const secret = "hunter2-and-more"
	hidden := property.Secret(property.String(secret))
	// tell uses the text where it is no secret: in a property, a name, and an error.
	tell := func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "of "+secret, enginetest.Props("text", secret+"!"))
		return err
	}
	for name, c := range map[string]struct {
		prepare func(s *enginetest.Stack)
		program func(p *enginetest.Run) error
	}{
		"the configuration": {func(s *enginetest.Stack) {
			s.Config = []abi.ConfigEntry{{Key: "proj:password", Value: secret, Secret: true}}
		}, tell},
		"the configuration of a provider": {func(s *enginetest.Stack) {
			s.Config = []abi.ConfigEntry{{Key: "test:password", Value: secret, Secret: true}}
		}, tell},
		"an input": {nil, func(p *enginetest.Run) error {
			if _, err := p.Custom(enginetest.Plain, "a", enginetest.Props("password", hidden)); err != nil {
				return err
			}
			return tell(p)
		}},
		"a part of an input": {nil, func(p *enginetest.Run) error {
			if _, err := p.Custom(enginetest.Plain, "a", enginetest.Props("list", property.Array(property.String("x"), hidden))); err != nil {
				return err
			}
			return tell(p)
		}},
		"the result of a function": {func(s *enginetest.Stack) {
			s.Cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) {
				return abi.InvokeResponse{Result: enginetest.Props("password", hidden)}, nil
			}
		}, func(p *enginetest.Run) error {
			if _, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:get"}); err != nil {
				return err
			}
			return tell(p)
		}},
		"an input of a component": {func(s *enginetest.Stack) {
			s.Cloud.Construct = func(ctx context.Context, m abi.Monitor, _ abi.ConstructRequest) (abi.ConstructResponse, error) {
				registered, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: enginetest.Plain, Name: "of " + secret, Custom: true, Inputs: enginetest.Props("text", secret)})
				return abi.ConstructResponse{URN: registered.URN}, err
			}
		}, func(p *enginetest.Run) error {
			_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: "test:index:Group", Name: "group", Remote: true, Inputs: enginetest.Props("password", hidden)})
			return err
		}},
		"the outputs of the stack": {nil, func(p *enginetest.Run) error {
			if err := p.Outputs(enginetest.Props("password", hidden)); err != nil {
				return err
			}
			return tell(p)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, run := range []func(context.Context, enginetest.Deployment) (*engine.Result, error){enginetest.Preview, enginetest.Up} {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				if c.prepare != nil {
					c.prepare(s)
				}
				var known redact.Secrets
				s.Edit = func(d *enginetest.Deployment) { d.Secrets = &known }
				_, err := s.Try(run, enginetest.Program(c.program))
				require.NoError(t, err)
				require.Contains(t, jsonOf(t, s.Events()), "of [secret]")
				require.NotContains(t, jsonOf(t, s.Events()), secret)
				require.Equal(t, "[secret]", known.In(secret), "the caller knows it, too")
			}
		})
	}
}

// What a provider answers is known before the next thing is told.
func TestSecretOutputsAreKnown(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	secret := ""
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.AdditionalSecretOutputs = []string{"made"} })
		if err != nil {
			return err
		}
		secret, _ = a.State.Get("made").Plain().AsString()
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("text", "and "+secret))
		return err
	})
	require.Greater(t, len(secret), redact.MinLength)
	require.Contains(t, jsonOf(t, s.Events()), "and [secret]")
}

// A state tells what is secret before anything is done with it.
func TestSecretsOfTheStateAreKnown(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("password", property.Secret(property.String("hunter2-and-more"))))
		return err
	})
	s.Cloud.Hook = func(string) error { return errors.New("the password hunter2-and-more is wrong") }
	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "hunter2-and-more", "errors are the caller's to show")
	require.Contains(t, jsonOf(t, s.Events()), "the password [secret] is wrong")
	require.NotContains(t, jsonOf(t, s.Events()), "hunter2-and-more")
}

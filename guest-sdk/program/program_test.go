package program_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/program"
)

const stack = "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev"

// monitor has what a program registers, and says that resources failed whose type is bad.
type monitor struct {
	abi.Monitor
	requests []abi.RegisterResourceRequest
	done     []abi.Completed
}

func (m *monitor) Start(_ context.Context, op abi.Operation) (abi.OperationHandle, error) {
	r := op.RegisterResource
	m.requests = append(m.requests, r)
	handle := abi.OperationHandle(len(m.requests))
	out := abi.Outcome{Case: abi.OutcomeCaseRegistered}
	out.Registered.URN = "urn:good"
	out.Registered.ID, out.Registered.State = r.Name+"-id", r.Inputs
	if r.Type == "bad" {
		out.Registered = abi.RegisterResourceResponse{URN: "urn:bad", Result: abi.RegistrationResultFailed}
	}
	m.done = append(m.done, abi.Completed{Handle: handle, Outcome: out})
	return handle, nil
}

func (m *monitor) Wait(context.Context) (abi.Completed, error) {
	next := m.done[0]
	m.done = m.done[1:]
	return next, nil
}

func run(t *testing.T, declare program.Func) (*monitor, property.Map, error) {
	m := &monitor{}
	response, err := program.New(declare).Run(abi.WithMonitor(t.Context(), m), abi.ProgramRunRequest{
		Engine: "test", Stack: stack,
		Context: abi.RunContext{Project: "demo", Stack: "dev", Config: []abi.ConfigEntry{
			{Key: "demo:name", Value: "ann"}, {Key: "aws:key", Value: "sesame", Secret: true},
		}},
	})
	return m, response.Outputs, err
}

func TestRun(t *testing.T) {
	m, outputs, err := run(t, func(_ context.Context, s *program.Stack) error {
		name, ok := s.Config("name")
		require.True(t, ok)
		_, ok = s.Config("none")
		require.False(t, ok)
		r := s.Resource(deploy.Declaration{Type: "a:b:C", Name: "one", Inputs: deploy.Props{
			"name": name, "key": s.Secret("aws:key"), "none": s.Secret("none"),
		}})
		require.Equal(t, "dev", s.Context().Stack)
		s.Output("id", r.ID())
		s.Output("key", deploy.Field[string](r, "key"))
		return nil
	})
	require.NoError(t, err)
	require.Len(t, m.requests, 1)
	require.EqualValues(t, stack, m.requests[0].Parent)
	require.Equal(t, property.NewMap(
		property.Entry{Key: "key", Value: property.Secret(property.String("sesame"))},
		property.Entry{Key: "name", Value: property.String("ann")},
	), m.requests[0].Inputs)
	require.Equal(t, property.String("one-id"), outputs.Get("id").Plain())
	require.True(t, outputs.Get("key").ContainsSecrets())
}

func TestRunFails(t *testing.T) {
	_, _, err := run(t, func(context.Context, *program.Stack) error { return errors.New("no such mood") })
	require.ErrorContains(t, err, "no such mood")
	_, _, err = run(t, func(_ context.Context, s *program.Stack) error {
		s.Output("channel", make(chan int))
		return nil
	})
	require.ErrorContains(t, err, "no value can have this type of Go; see deploy.ValueOf")
}

// A program goes on without what has failed, if the deployment does.
func TestRunContinues(t *testing.T) {
	m, outputs, err := run(t, func(_ context.Context, s *program.Stack) error {
		bad := s.Resource(deploy.Declaration{Type: "bad", Name: "bad"})
		s.Resource(deploy.Declaration{Type: "a:b:C", Name: "after", Inputs: deploy.Props{"of": bad.ID()}})
		s.Output("name", deploy.Field[string](bad, "name"))
		s.Output("all", deploy.As[property.Map](bad))
		return nil
	})
	require.NoError(t, err)
	require.Len(t, m.requests, 2)
	require.True(t, m.requests[1].Inputs.ContainsUnknowns())
	require.Equal(t, []string{"urn:bad"}, m.requests[1].Inputs.Get("of").Dependencies())
	require.True(t, outputs.Get("name").ContainsUnknowns())
	require.True(t, outputs.Get("all").ContainsUnknowns())
}

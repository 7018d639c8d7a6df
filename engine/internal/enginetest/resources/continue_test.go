package resources_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

func goOn(d *enginetest.Deployment) { d.ContinueOnError = true }

// With ContinueOnError, all that does not need what failed is done, what needs it is
// skipped, and the run still fails.
func TestContinueOnError(t *testing.T) {
	results := make(map[string]abi.RegistrationResult)
	program := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			var err error
			register := func(name string, inputs property.Map, options ...enginetest.OptionsOf) enginetest.Resource {
				r, e := p.Custom(enginetest.Plain, name, inputs, options...)
				err = errors.Join(err, e)
				results[name] = r.Result
				return r
			}
			a := register("a", enginetest.Props("key", key))
			b := register("b", enginetest.Props("key", a.Out("made")))
			register("c", enginetest.Props("key", b.Out("made")))
			register("d", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
			register("e", enginetest.Props("key", key))
			return errors.Join(err, p.Outputs(enginetest.Props("e", key)))
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = goOn
	failing(s, "create a")
	_, err := s.Try(enginetest.Up, program("1"))
	require.ErrorContains(t, err, `create test:index:Plain "a": no luck`)
	require.Equal(t, []string{"create a", "create e"}, s.Cloud.Calls())
	const failed, skipped = abi.RegistrationResultFailed, abi.RegistrationResultSkipped
	require.Equal(t, map[string]abi.RegistrationResult{"a": failed, "b": skipped, "c": skipped, "d": skipped, "e": 0}, results)
	require.Contains(t, strings.Join(s.Warnings(), "\n"), "skipped, since ")

	s.Cloud.Hook = nil
	require.Equal(t, 4, s.Up(program("1")).Create, "the next run makes what is missing")
	s.Cloud.Calls()
	failing(s, "update a")
	_, err = s.Try(enginetest.Up, program("2"))
	require.Error(t, err)
	require.Equal(t, []string{"update a", "update e"}, s.Cloud.Calls())
	require.Equal(t, 5, s.Cloud.Objects(), "what was skipped is left as it was")
}

// After a failure, what the program no longer registers is deleted, but not what a
// resource that failed or was skipped still uses, and not what uses one.
func TestContinueOnErrorWithholdsDeletions(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		base, err := p.Custom(enginetest.Plain, "base", enginetest.Props())
		if err != nil {
			return err
		}
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", "1"), func(o *abi.ResourceOptions) {
			o.Dependencies = append(o.Dependencies, base.URN)
		})
		if err != nil {
			return err
		}
		_, errUser := p.Custom(enginetest.Plain, "user", enginetest.Props("key", a.Out("made")))
		_, errOther := p.Custom(enginetest.Plain, "other", enginetest.Props())
		return errors.Join(errUser, errOther)
	})
	s.Cloud.Calls()
	s.Edit = goOn
	failing(s, "update a")
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props("key", "2")))
	require.Error(t, err)
	require.Equal(t, []string{"update a", "delete other-4"}, s.Cloud.Calls())

	s.Cloud.Hook = nil
	s.Up(enginetest.One(enginetest.Props("key", "2")))
	require.Equal(t, []string{"a-2"}, s.Cloud.IDs())
}

func TestContinueOnErrorOfADeletion(t *testing.T) {
	for _, operation := range []string{"up", "destroy"} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(func(p *enginetest.Run) error {
			if err := enginetest.Chain(enginetest.Plain, "1")(p); err != nil {
				return err
			}
			_, err := p.Custom(enginetest.Plain, "other", enginetest.Props())
			return err
		})
		s.Cloud.Calls()
		s.Edit = goOn
		failing(s, "delete b-2")
		run := enginetest.Up
		if operation == "destroy" {
			run = enginetest.Destroy
		}
		_, err := s.Try(run, enginetest.Program(enginetest.Empty))
		require.ErrorContains(t, err, "no luck")
		calls := s.Cloud.Calls()
		slices.Sort(calls)
		require.Equal(t, []string{"delete b-2", "delete c-3", "delete other-4"}, calls, "%s: a is still used by b", operation)
	}
}

// A protected resource stays, with what it depends on; all other work is done.
func TestProtectedResourceStopsNothing(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	yes := true
	s.Up(func(p *enginetest.Run) error {
		base, err := p.Custom(enginetest.Plain, "base", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "kept", enginetest.Props("key", base.Out("made")), func(o *abi.ResourceOptions) { o.Protect = &yes })
		if err != nil {
			return err
		}
		return enginetest.Chain(enginetest.Plain, "1")(p)
	})
	s.Cloud.Calls()
	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "protected")
	require.Equal(t, []string{"base-1", "kept-2"}, s.Cloud.IDs())
	s.Edit = func(d *enginetest.Deployment) { d.IgnoreProtect = true }
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
}

// What was stopped because of another failure says nothing of its own.
func TestAFailureIsToldOnce(t *testing.T) {
	cloud := enginetest.NewCloud()
	failed := make(chan struct{})
	cloud.Construct = func(ctx context.Context, m abi.Monitor, req abi.ConstructRequest) (abi.ConstructResponse, error) {
		<-failed
		_, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: enginetest.Plain, Name: "child", Custom: true})
		return abi.ConstructResponse{}, abi.AsError(fmt.Errorf("make the child: %w", err)) // as it comes out of a module
	}
	s := enginetest.NewStack(t, cloud)
	failing(s, "create a")
	program := enginetest.Program(func(p *enginetest.Run) error {
		made := make(chan error)
		go func() {
			_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: "test:index:Pair", Name: "pair", Remote: true})
			made <- err
		}()
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		close(failed)
		<-made
		return err
	})
	_, err := s.Try(enginetest.Up, program)
	require.EqualError(t, err, `create test:index:Plain "a": no luck`)
	var told []string
	for _, e := range s.Events() {
		if f, ok := e.(engine.StepFailed); ok {
			told = append(told, f.Error)
		}
	}
	require.Equal(t, []string{`create test:index:Plain "a": no luck`}, told)
}

// An error says once what was done to which resource.
func TestErrorsNameTheOperationOnce(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error {
		return &abi.Error{Kind: abi.ErrorKindUnavailable, Message: "no luck", Provider: "test", Version: "1.0.0", Method: "create"}
	}
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props()))
	require.EqualError(t, err, `test:index:Plain "a": test 1.0.0: create: no luck`)
}

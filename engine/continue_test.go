package engine_test

import (
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

func failing(s *enginetest.Stack, calls ...string) {
	s.Cloud.Hook = func(call string) error {
		if slices.Contains(calls, call) {
			return errors.New("no luck")
		}
		return nil
	}
}

func goOn(d *enginetest.Deployment) { d.ContinueOnError = true }

// With ContinueOnError, all that does not need what failed is done, what needs it is
// skipped, and the run still fails.
func TestContinueOnError(t *testing.T) {
	results := make(map[string]abi.RegistrationResult)
	program := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			var err error
			register := func(name string, inputs property.Map, options ...optionsOf) enginetest.Resource {
				r, e := p.Custom(plain, name, inputs, options...)
				err = errors.Join(err, e)
				results[name] = r.Result
				return r
			}
			a := register("a", props("key", key))
			b := register("b", props("key", a.Out("made")))
			register("c", props("key", b.Out("made")))
			register("d", props("key", key), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
			register("e", props("key", key))
			return errors.Join(err, p.Outputs(props("e", key)))
		}
	}
	s := enginetest.NewStack(t, newCloud())
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
	s := enginetest.NewStack(t, newCloud())
	s.Up(func(p *enginetest.Run) error {
		base, err := p.Custom(plain, "base", props())
		if err != nil {
			return err
		}
		a, err := p.Custom(plain, "a", props("key", "1"), func(o *abi.ResourceOptions) {
			o.Dependencies = append(o.Dependencies, base.URN)
		})
		if err != nil {
			return err
		}
		_, errUser := p.Custom(plain, "user", props("key", a.Out("made")))
		_, errOther := p.Custom(plain, "other", props())
		return errors.Join(errUser, errOther)
	})
	s.Cloud.Calls()
	s.Edit = goOn
	failing(s, "update a")
	_, err := s.Try(enginetest.Up, one(props("key", "2")))
	require.Error(t, err)
	require.Equal(t, []string{"update a", "delete other-4"}, s.Cloud.Calls())

	s.Cloud.Hook = nil
	s.Up(one(props("key", "2")))
	require.Equal(t, []string{"a-2"}, s.Cloud.IDs())
}

func TestContinueOnErrorOfADeletion(t *testing.T) {
	for _, operation := range []string{"up", "destroy"} {
		s := enginetest.NewStack(t, newCloud())
		s.Up(func(p *enginetest.Run) error {
			if err := chain(plain, "1")(p); err != nil {
				return err
			}
			_, err := p.Custom(plain, "other", props())
			return err
		})
		s.Cloud.Calls()
		s.Edit = goOn
		failing(s, "delete b-2")
		run := enginetest.Up
		if operation == "destroy" {
			run = enginetest.Destroy
		}
		_, err := s.Try(run, enginetest.Program(empty))
		require.ErrorContains(t, err, "no luck")
		calls := s.Cloud.Calls()
		slices.Sort(calls)
		require.Equal(t, []string{"delete b-2", "delete c-3", "delete other-4"}, calls, "%s: a is still used by b", operation)
	}
}

// A protected resource stays, with what it depends on; all other work is done.
func TestProtectedResourceStopsNothing(t *testing.T) {
	s := enginetest.NewStack(t, newCloud())
	yes := true
	s.Up(func(p *enginetest.Run) error {
		base, err := p.Custom(plain, "base", props())
		if err != nil {
			return err
		}
		_, err = p.Custom(plain, "kept", props("key", base.Out("made")), func(o *abi.ResourceOptions) { o.Protect = &yes })
		if err != nil {
			return err
		}
		return chain(plain, "1")(p)
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
	cloud := newCloud()
	failed := make(chan struct{})
	cloud.Construct = func(ctx contextType, m abi.Monitor, req abi.ConstructRequest) (abi.ConstructResponse, error) {
		<-failed
		_, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: plain, Name: "child", Custom: true})
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
		_, err := p.Custom(plain, "a", props())
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
	s := enginetest.NewStack(t, newCloud())
	s.Cloud.Hook = func(call string) error {
		return &abi.Error{Kind: abi.ErrorKindUnavailable, Message: "no luck", Provider: "test", Version: "1.0.0", Method: "create"}
	}
	_, err := s.Try(enginetest.Up, one(props()))
	require.EqualError(t, err, `test:index:Plain "a": test 1.0.0: create: no luck`)
}

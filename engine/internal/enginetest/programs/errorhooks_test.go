package programs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// deciding is a program with error hooks that answer as the function does.
func deciding(decide func(hook string, f callback.Failure) (bool, error), then enginetest.Program, names ...string) enginetest.Program {
	return func(p *enginetest.Run) error {
		for _, name := range names {
			err := callbacks(p).RegisterErrorHook(callback.ErrorHook{Name: name, Run: func(_ context.Context, f callback.Failure) (bool, error) {
				return decide(name, f)
			}})
			if err != nil {
				return err
			}
		}
		return then(p)
	}
}

func always(string, callback.Failure) (bool, error) { return true, nil }

// failTimes has the first so many calls fail, with errors that are counted.
func failTimes(s *enginetest.Stack, n int, call string) {
	failures := 0
	s.Cloud.Hook = func(c string) error {
		if c == call && failures < n {
			failures++
			return fmt.Errorf("failure %d", failures)
		}
		return nil
	}
}

// All error hooks of a step are asked after each failure, with the errors so far, the
// newest first. The step is tried again if one of them wants that.
func TestErrorHooksRetry(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	for _, c := range []struct {
		operation, call string
		then            enginetest.Program
		old, new        bool
	}{
		{"create", "create a", custom(enginetest.Plain, "a", enginetest.Props("key", "1"), onError("one", "two")), false, true},
		{"update", "update a", custom(enginetest.Plain, "a", enginetest.Props("key", "2"), onError("one", "two")), true, true},
		{"delete", "delete a-1", nothing, true, false},
	} {
		s.Cloud.Calls()
		failTimes(s, 2, c.call)
		var asked []string
		s.Up(deciding(func(hook string, f callback.Failure) (bool, error) {
			require.Equal(t, c.operation, f.Operation)
			require.Equal(t, c.old, f.Old != nil)
			require.Equal(t, c.new, f.New != nil)
			asked = append(asked, fmt.Sprint(hook, f.Errors))
			return hook == "two", nil
		}, c.then, "one", "two"))
		require.Equal(t, []string{
			"one[failure 1]", "two[failure 1]", "one[failure 2 failure 1]", "two[failure 2 failure 1]",
		}, asked, c.operation)
		require.Equal(t, []string{c.call, c.call, c.call}, s.Cloud.Calls())
		for i, said := range []string{"1 of 100 failed: failure 1", "2 of 100 failed: failure 2"} {
			require.Contains(t, s.Warnings()[i], "retrying "+c.operation+" due to on-error hook request: attempt "+said)
		}
	}
	require.Nil(t, s.Resource("a"))
}

// A step fails as without hooks when none of them wants another attempt, when one fails
// itself, and after a hundred attempts.
func TestErrorHooksEnd(t *testing.T) {
	for name, c := range map[string]struct {
		decide   func(string, callback.Failure) (bool, error)
		failures int
		attempts int
		err      string
	}{
		"no":               {func(string, callback.Failure) (bool, error) { return false, nil }, 1, 1, "failure 1"},
		"hook fails":       {func(string, callback.Failure) (bool, error) { return true, errors.New("oh no") }, 1, 1, `the error hook "h" failed: oh no`},
		"hundred attempts": {always, 1000, 100, "given up after 100 attempts: failure 100"},
		"just in time":     {always, 99, 100, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			failTimes(s, c.failures, "create a")
			_, err := s.Try(enginetest.Up, deciding(c.decide, custom(enginetest.Plain, "a", enginetest.Props(), onError("h")), "h"))
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
				require.Nil(t, s.Resource("a"))
			}
			require.Len(t, s.Cloud.Calls(), c.attempts)
		})
	}
}

// Hooks around a step see one step, however many attempts it takes.
func TestErrorHooksInsideOthers(t *testing.T) {
	log := new(diary)
	s := enginetest.NewStack(t, enginetest.NewCloud())
	failTimes(s, 3, "create a")
	s.Up(hooked([]callback.Hook{log.hook("log")},
		deciding(always, custom(enginetest.Plain, "a", enginetest.Props(), bound("log"), onError("h")), "h")))
	require.Equal(t, []string{"before-create a", "after-create a"}, log.read())
}

// A creation that has made something is not tried again, which would make it twice: it
// is recorded, and the next deployment updates it. An update that failed like that is
// tried again, from what it has left behind.
func TestErrorHooksAfterPartialSuccess(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	partial := func(call string, times int) {
		s.Cloud.Hook = func(c string) error {
			if c != call || times == 0 {
				return nil
			}
			times--
			return &abi.Error{Kind: abi.ErrorKindInitFailed, Message: "not ready", InitFailure: &abi.InitFailure{
				ID: "a-1", State: enginetest.Props("key", "half"), Reasons: []string{"not ready"},
			}}
		}
	}
	partial("create a", 1)
	up := func(key string) error {
		_, err := s.Try(enginetest.Up, deciding(always, custom(enginetest.Plain, "a", enginetest.Props("key", key), onError("h")), "h"))
		return err
	}
	require.ErrorContains(t, up("1"), "not ready")
	require.Equal(t, []string{"create a"}, s.Cloud.Calls())
	require.Equal(t, "a-1", s.Resource("a").ID)

	s.Cloud.Change("a-1", func(property.Map) property.Map { return enginetest.Props("key", "half") })
	partial("update a", 2)
	require.NoError(t, up("2"))
	require.Equal(t, []string{"update a", "update a", "update a"}, s.Cloud.Calls())
	require.Empty(t, s.Resource("a").InitErrors)
	require.Equal(t, enginetest.Props("key", "2"), s.Resource("a").Inputs)
}

// Where an attempt may have had its effect, a creation is not tried again, which could make
// its object twice, and stays pending; what else it was, the later attempt has settled.
func TestErrorHooksAfterUnknownOutcome(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	lost := errors.New("x")
	once := func(call string) {
		done := false
		s.Cloud.Hook = func(c string) error {
			if c == call && !done {
				done = true
				return errors.Join(lost, abi.NewError(abi.ErrorKindUnavailable, "the connection was lost"))
			}
			return nil
		}
	}
	pending := func() (kinds []state.OperationType) {
		for _, op := range s.Snapshot().Operations() {
			kinds = append(kinds, op.Type)
		}
		return slices.Compact(kinds)
	}
	once("create a")
	creating := deciding(always, custom(enginetest.Plain, "a", enginetest.Props("key", "1"), onError("h")), "h")
	_, err := s.Try(enginetest.Up, creating)
	require.ErrorIs(t, err, lost)
	require.Equal(t, []string{"create a"}, s.Cloud.Calls())
	require.Equal(t, []state.OperationType{state.OperationCreating}, pending())
	s.Up(creating)
	require.Equal(t, "a-1", s.Resource("a").ID)
	once("update a")
	s.Up(deciding(always, custom(enginetest.Plain, "a", enginetest.Props("key", "2"), onError("h")), "h"))
	once("delete a-1")
	s.Up(deciding(always, nothing, "h"))
	require.Equal(t, []state.OperationType{state.OperationCreating}, pending())
}

// A deletion whose error hook is no longer registered fails as without it.
func TestErrorHooksOfAbsentPrograms(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(deciding(always, custom(enginetest.Plain, "a", enginetest.Props(), onError("h")), "h"))
	failTimes(s, 1, "delete a-1")
	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "failure 1")
	require.Contains(t, s.Warnings(), `the error hook "h" is not registered, so the step is not tried again`)
	s.Destroy()
}

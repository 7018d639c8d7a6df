package guestcall

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/limit"
)

type someKey struct{}

// beginOne begins a call that may take an hour, with a grace of a minute.
func beginOne(ctx context.Context) *Call {
	return Begin(ctx, "create", limit.Call{Time: uint64(time.Hour)}, time.Minute, "the instance", nil)
}

var errStop = errors.New("stop")

// Whoever waits for the end of a call, and whoever only looks, learn the same of it.
func TestContextsOfACall(t *testing.T) {
	limit := &limit.ExceededError{Limit: limit.Time, Most: uint64(time.Hour), Method: "create"}
	watchers := map[string]func(*Call){
		"nobody waits":           func(*Call) {},
		"somebody waits":         func(r *Call) { r.Soft().Done() },
		"somebody waits for all": func(r *Call) { r.Hard().Done() },
	}
	ends := map[string]struct {
		end        func(r *Call, cancel context.CancelCauseFunc)
		err, cause error
		after      time.Duration // hard ends this much later
	}{
		"the caller cancels":       {func(_ *Call, cancel context.CancelCauseFunc) { cancel(errStop) }, context.Canceled, errStop, time.Minute},
		"its time is over":         {func(*Call, context.CancelCauseFunc) { time.Sleep(time.Hour) }, context.DeadlineExceeded, limit, time.Minute},
		"it is cancelled":          {func(r *Call, _ context.CancelCauseFunc) { r.Cancel(errStop) }, context.Canceled, errStop, time.Minute},
		"it is ended":              {func(r *Call, _ context.CancelCauseFunc) { r.End(errStop) }, context.Canceled, errStop, 0},
		"it is over, and finished": {func(r *Call, _ context.CancelCauseFunc) { r.Finish() }, context.Canceled, context.Canceled, 0},
	}
	for watcher, watch := range watchers {
		for name, test := range ends {
			t.Run(name+" while "+watcher, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), someKey{}, "of the caller"))
					defer cancel(nil)
					r := beginOne(ctx)
					defer r.Finish()
					watch(r)
					require.NoError(t, r.Soft().Err())
					require.NoError(t, r.Hard().Err())

					test.end(r, cancel)
					synctest.Wait()
					require.Equal(t, test.err, r.Soft().Err())
					<-r.Soft().Done()
					require.Equal(t, test.cause, context.Cause(r.Soft()))
					if test.after > 0 {
						require.NoError(t, r.Hard().Err())
						require.NoError(t, context.Cause(r.Hard()))
						time.Sleep(test.after)
						synctest.Wait()
					}
					require.Error(t, r.Hard().Err())
					<-r.Hard().Done()
					require.Equal(t, test.cause, context.Cause(r.Hard()))

					for _, c := range []context.Context{r.Soft(), r.Hard()} {
						require.Equal(t, "of the caller", c.Value(someKey{}))
					}
					require.Equal(t, "the instance", r.Hard().Value(InstanceKey{}))
				})
			})
		}
	}
}

// A guest that runs on is ended by the time that it asks for fuel, whoever waits.
func TestACallThatIsDueIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginOne(t.Context())
		defer r.Finish()
		time.Sleep(time.Hour + time.Minute + 1)
		r.CheckDeadline(time.Now())
		require.Error(t, r.Hard().Err())
		require.ErrorContains(t, context.Cause(r.Hard()), "1h0m0s")
	})
}

// What is derived from a call's contexts ends with them, and has no goroutines of its own.
func TestContextsThatAreDerivedFromACalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginOne(t.Context())
		derived, cancel := context.WithCancel(r.Soft())
		defer cancel()
		called := false
		context.AfterFunc(derived, func() { called = true })
		synctest.Wait()
		require.NoError(t, derived.Err())
		r.Finish()
		synctest.Wait()
		require.ErrorIs(t, derived.Err(), context.Canceled)
		require.True(t, called)

		late, cancel := context.WithCancel(r.Soft())
		defer cancel()
		require.ErrorIs(t, late.Err(), context.Canceled)
	})
}

// The caller's deadline is the call's where it is earlier, and its reason is the caller's.
func TestTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errStop)
		defer cancel()
		r := beginOne(ctx)
		defer r.Finish()
		deadline, ok := r.Soft().Deadline()
		require.True(t, ok)
		require.Equal(t, time.Minute, time.Until(deadline))
		_, ok = r.Hard().Deadline()
		require.False(t, ok)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, r.Soft().Err())
		require.Equal(t, errStop, context.Cause(r.Soft()))
	})
}

type someMonitor struct{ abi.Monitor }

func TestTheMonitorIsForComponentsOnly(t *testing.T) {
	ctx := abi.WithMonitor(t.Context(), someMonitor{})
	for method, granted := range map[abi.Method]bool{
		"construct": true, "call": true, "create": false, "invoke": false, "configure": false, "start": false,
	} {
		r := Begin(ctx, method, limit.Call{Time: uint64(time.Hour)}, time.Second, nil, nil)
		require.Equal(t, granted, r.Monitor != nil, method)
		r.Finish()
	}
	r := Begin(t.Context(), "construct", limit.Call{Time: uint64(time.Hour)}, time.Second, nil, nil)
	defer r.Finish()
	require.Nil(t, r.Monitor)
	_, err := capability.DeniedMonitor{}.Wait(t.Context())
	require.ErrorIs(t, err, abi.ErrDenied)
}

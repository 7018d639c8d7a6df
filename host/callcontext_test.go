package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/limit"
)

type someKey struct{}

// beginOne begins a call that may take an hour, with a grace of a minute.
func beginOne(ctx context.Context) *running {
	r := begin(ctx, "create", limit.Call{Time: uint64(time.Hour)}, time.Minute)
	r.instance = &instance{}
	return r
}

var errStop = errors.New("stop")

// Whoever waits for the end of a call, and whoever only looks, learn the same of it.
func TestContextsOfACall(t *testing.T) {
	limit := &limit.ExceededError{Limit: limit.Time, Most: uint64(time.Hour), Method: "create"}
	watchers := map[string]func(*running){
		"nobody waits":           func(*running) {},
		"somebody waits":         func(r *running) { r.soft().Done() },
		"somebody waits for all": func(r *running) { r.hard().Done() },
	}
	ends := map[string]struct {
		end        func(r *running, cancel context.CancelCauseFunc)
		err, cause error
		after      time.Duration // hard ends this much later
	}{
		"the caller cancels":       {func(_ *running, cancel context.CancelCauseFunc) { cancel(errStop) }, context.Canceled, errStop, time.Minute},
		"its time is over":         {func(*running, context.CancelCauseFunc) { time.Sleep(time.Hour) }, context.DeadlineExceeded, limit, time.Minute},
		"it is cancelled":          {func(r *running, _ context.CancelCauseFunc) { r.cancel(errStop) }, context.Canceled, errStop, time.Minute},
		"it is ended":              {func(r *running, _ context.CancelCauseFunc) { r.end(errStop) }, context.Canceled, errStop, 0},
		"it is over, and finished": {func(r *running, _ context.CancelCauseFunc) { r.finish() }, context.Canceled, context.Canceled, 0},
	}
	for watcher, watch := range watchers {
		for name, test := range ends {
			t.Run(name+" while "+watcher, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), someKey{}, "of the caller"))
					defer cancel(nil)
					r := beginOne(ctx)
					defer r.finish()
					watch(r)
					require.NoError(t, r.soft().Err())
					require.NoError(t, r.hard().Err())

					test.end(r, cancel)
					synctest.Wait()
					require.Equal(t, test.err, r.soft().Err())
					<-r.soft().Done()
					require.Equal(t, test.cause, context.Cause(r.soft()))
					if test.after > 0 {
						require.NoError(t, r.hard().Err())
						require.NoError(t, context.Cause(r.hard()))
						time.Sleep(test.after)
						synctest.Wait()
					}
					require.Error(t, r.hard().Err())
					<-r.hard().Done()
					require.Equal(t, test.cause, context.Cause(r.hard()))

					for _, c := range []context.Context{r.soft(), r.hard()} {
						require.Equal(t, "of the caller", c.Value(someKey{}))
					}
					require.Equal(t, r.instance, r.hard().Value(instanceKey{}))
				})
			})
		}
	}
}

// A guest that runs on is ended by the time that it asks for fuel, whoever waits.
func TestACallThatIsDueIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginOne(t.Context())
		defer r.finish()
		time.Sleep(time.Hour + time.Minute + 1)
		r.checkDeadline(time.Now())
		require.Error(t, r.hard().Err())
		require.ErrorContains(t, context.Cause(r.hard()), "1h0m0s")
	})
}

// What is derived from a call's contexts ends with them, and has no goroutines of its own.
func TestContextsThatAreDerivedFromACalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginOne(t.Context())
		derived, cancel := context.WithCancel(r.soft())
		defer cancel()
		called := false
		context.AfterFunc(derived, func() { called = true })
		synctest.Wait()
		require.NoError(t, derived.Err())
		r.finish()
		synctest.Wait()
		require.ErrorIs(t, derived.Err(), context.Canceled)
		require.True(t, called)

		late, cancel := context.WithCancel(r.soft())
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
		defer r.finish()
		deadline, ok := r.soft().Deadline()
		require.True(t, ok)
		require.Equal(t, time.Minute, time.Until(deadline))
		_, ok = r.hard().Deadline()
		require.False(t, ok)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, r.soft().Err())
		require.Equal(t, errStop, context.Cause(r.soft()))
	})
}

package blocking_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/blocking"
)

func TestCall(t *testing.T) {
	got, err := blocking.Call(t.Context(), func() (string, error) { return "value", nil }, nil)
	require.NoError(t, err)
	require.Equal(t, "value", got)

	failed := errors.New("failed")
	_, err = blocking.Call(t.Context(), func() (string, error) { return "", failed }, nil)
	require.Equal(t, failed, err)
}

// A call that is not waited for any more goes on, and what it comes to is not lost.
func TestAbandonedCall(t *testing.T) {
	stopped := errors.New("stopped")
	// abandon returns once the context of a call to f has ended after f began.
	abandon := func(f func() (string, error), late func(string)) {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := make(chan struct{})
		go func() {
			<-begun
			cancel(stopped)
		}()
		got, err := blocking.Call(ctx, func() (string, error) {
			close(begun)
			return f()
		}, late)
		require.Equal(t, stopped, err)
		require.Empty(t, got)
	}
	end, late := make(chan struct{}), make(chan string)
	abandon(func() (string, error) {
		<-end
		return "value", nil
	}, func(value string) { late <- value })
	close(end)
	require.Equal(t, "value", <-late)

	// What failed has nothing to be cleaned up.
	end, done := make(chan struct{}), make(chan struct{})
	abandon(func() (string, error) {
		<-end
		defer close(done)
		return "", errors.New("failed")
	}, func(string) { t.Error("there is no value") })
	close(end)
	<-done
}

// A context that has ended starts nothing: nobody would wait for it, or clean up after it.
func TestCallThatDoesNotBegin(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, err := blocking.Call(ctx, func() (string, error) {
		t.Error("the call began")
		return "", nil
	}, nil)
	require.Equal(t, stopped, err)
}

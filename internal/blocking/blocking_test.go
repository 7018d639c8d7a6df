package blocking_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/blocking"
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
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	begun, end, late := make(chan struct{}), make(chan struct{}), make(chan string)
	go func() {
		<-begun
		cancel(stopped)
	}()
	got, err := blocking.Call(ctx, func() (string, error) {
		close(begun)
		<-end
		return "value", nil
	}, func(value string) { late <- value })
	require.Equal(t, stopped, err)
	require.Empty(t, got)
	close(end)
	require.Equal(t, "value", <-late)

	// What failed has nothing to be cleaned up.
	done := make(chan struct{})
	_, err = blocking.Call(ctx, func() (string, error) {
		defer close(done)
		return "", errors.New("failed")
	}, func(string) { t.Error("there is no value") })
	require.Error(t, err)
	<-done
}

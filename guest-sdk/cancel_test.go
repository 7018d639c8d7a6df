package guest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallContext(t *testing.T) {
	cancelled := false
	asks := func(context.Context) bool { return cancelled }

	t.Run("cancelled while the code runs", func(t *testing.T) {
		cancelled = false
		c := newCallContext(context.Background(), asks, 0)
		defer c.end()
		require.NoError(t, c.Err())
		_, limited := c.Deadline()
		require.False(t, limited)
		cancelled = true
		require.ErrorIs(t, c.Err(), context.Canceled)
		cancelled = false
		require.ErrorIs(t, c.Err(), context.Canceled, "for good")
		<-c.Done()
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		cancel := make(chan struct{})
		c := newCallContext(context.Background(), func(context.Context) bool {
			select {
			case <-cancel:
				return true
			default:
				return false
			}
		}, 0)
		defer c.end()
		done := c.Done()
		close(cancel)
		<-done
		require.ErrorIs(t, c.Err(), context.Canceled)
	})
	t.Run("timeout", func(t *testing.T) {
		c := newCallContext(context.Background(), func(context.Context) bool { return false }, time.Millisecond)
		defer c.end()
		_, limited := c.Deadline()
		require.True(t, limited)
		<-c.Done()
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
	})
	t.Run("ends with its call", func(t *testing.T) {
		c := newCallContext(context.Background(), func(context.Context) bool { return false }, 0)
		done := c.Done()
		c.end()
		<-done
		require.ErrorIs(t, c.Err(), context.Canceled)
	})
	t.Run("what derives from it ends too", func(t *testing.T) {
		c := newCallContext(context.Background(), func(context.Context) bool { return false }, 0)
		derived, cancel := context.WithCancel(WithLog(c, nil))
		defer cancel()
		c.end()
		<-derived.Done()
	})
}

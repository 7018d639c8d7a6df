package call

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestContext(t *testing.T) {
	cancelled := false
	asks := func(context.Context) bool { return cancelled }

	t.Run("cancelled while the code runs", func(t *testing.T) {
		cancelled = false
		c := new(Contexts).New(context.Background(), asks, "", 0)
		defer c.End()
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
		c := new(Contexts).New(context.Background(), func(context.Context) bool {
			select {
			case <-cancel:
				return true
			default:
				return false
			}
		}, "", 0)
		defer c.End()
		done := c.Done()
		close(cancel)
		<-done
		require.ErrorIs(t, c.Err(), context.Canceled)
	})
	t.Run("timeout", func(t *testing.T) {
		c := new(Contexts).New(context.Background(), func(context.Context) bool { return false }, "", time.Millisecond)
		defer c.End()
		_, limited := c.Deadline()
		require.True(t, limited)
		<-c.Done()
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
	})
	t.Run("ends with its call", func(t *testing.T) {
		c := new(Contexts).New(context.Background(), func(context.Context) bool { return false }, "", 0)
		done := c.Done()
		c.End()
		<-done
		require.ErrorIs(t, c.Err(), context.Canceled)
	})
	t.Run("what derives from it ends too", func(t *testing.T) {
		c := new(Contexts).New(context.Background(), func(context.Context) bool { return false }, "", 0)
		derived, cancel := context.WithCancel(WithLog(c, nil))
		defer cancel()
		c.End()
		<-derived.Done()
	})
}

func TestAContextIsAboutAResource(t *testing.T) {
	never := func(context.Context) bool { return false }
	about := new(Contexts).New(context.Background(), never, "urn:pulumi:dev::p::a:b:C::c", 0)
	require.EqualValues(t, "urn:pulumi:dev::p::a:b:C::c", Log(about).urn)
	require.Empty(t, Log(new(Contexts).New(context.Background(), never, "", 0)).urn)
	other := WithURN(context.Background(), "urn:pulumi:dev::p::a:b:C::d")
	require.EqualValues(t, "urn:pulumi:dev::p::a:b:C::d", Log(new(Contexts).New(other, never, "", 0)).urn)
}

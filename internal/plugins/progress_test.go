package plugins

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
)

// Quick work is not reported. Slow work is reported when it turns out to be slow, and at its end.
func TestProgressIsOfSlowWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []engine.Event
		p := progress(func(e engine.Event) { reports = append(reports, e) })

		ctx, cancel := context.WithCancel(t.Context())
		over := p.begin(t.Context(), "quick", compiling)
		over()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, reports)

		over = p.begin(ctx, "slow", compiling)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		begun := engine.Preparing{Provider: "slow", Doing: "compiling", ElapsedMs: 500}
		require.Equal(t, []engine.Event{begun}, reports)
		time.Sleep(2 * time.Second)
		over()
		require.Equal(t, []engine.Event{begun, engine.Preparing{Provider: "slow", Doing: "compiling", ElapsedMs: 2500, Done: true}}, reports)

		reports = nil
		over = p.begin(ctx, "slow", compiling)
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		over()
		require.Equal(t, []engine.Event{begun, engine.Preparing{Provider: "slow", Doing: "compiling", ElapsedMs: 1000, Done: true, GivenUp: true}}, reports)
	})
}

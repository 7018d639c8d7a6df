package plugins

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/registry"
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
		moved, over := p.receiving(t.Context(), "slow", fetching)
		for range 8 { // the first is too early, and the others are twice as many as are told
			moved(registry.Progress{Moved: 1, Size: 4})
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
		}
		moved(registry.Progress{Over: true})
		over()
		fetched := func(elapsed, received int64, done bool) engine.Preparing {
			return engine.Preparing{Provider: "slow", Doing: fetching, ElapsedMs: elapsed, Received: received, Size: 4 * received, Done: done}
		}
		require.Equal(t, []engine.Event{fetched(500, 0, false), fetched(1500, 1, false), fetched(2500, 1, false), fetched(3500, 1, false), fetched(4000, 0, true)}, reports)

		reports = nil
		over = p.begin(ctx, "slow", compiling)
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		over()
		require.Equal(t, []engine.Event{begun, engine.Preparing{Provider: "slow", Doing: "compiling", ElapsedMs: 1000, Done: true, GivenUp: true}}, reports)
	})
}

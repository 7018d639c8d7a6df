package plugins

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
)

// Nothing is said of what is quick; what is slow is told of once it is slow, and at its end.
func TestProgressIsToldOfWhatIsSlow(t *testing.T) {
	var said []engine.Preparing
	var now time.Time
	var due []func()
	p := progress{
		tell: func(e engine.Preparing) { said = append(said, e) },
		now:  func() time.Time { return now },
		after: func(d time.Duration, f func()) (stop func()) {
			require.Equal(t, 500*time.Millisecond, d)
			stopped := false
			due = append(due, func() {
				if !stopped {
					f()
				}
			})
			return func() { stopped = true }
		},
	}
	wait := func(d time.Duration) {
		now = now.Add(d)
		for _, f := range due {
			f()
		}
		due = nil
	}

	over := p.begin("quick", compiling)
	over()
	wait(time.Second)
	require.Empty(t, said)

	over = p.begin("slow", compiling)
	wait(500 * time.Millisecond)
	begun := engine.Preparing{Provider: "slow", Doing: "compiling", ElapsedMs: 500}
	require.Equal(t, []engine.Preparing{begun}, said)
	now = now.Add(2 * time.Second)
	over()
	require.Equal(t, []engine.Preparing{begun, {Provider: "slow", Doing: "compiling", ElapsedMs: 2500, Done: true}}, said)
}

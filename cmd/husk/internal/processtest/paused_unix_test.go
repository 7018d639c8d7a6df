//go:build unix

package processtest

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

// shiftedClock is that of a server, which can be put ahead.
type shiftedClock struct{ ahead atomic.Int64 }

func (c *shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// startBucket starts a server like S3 with a clock of its own, and returns the URL of a bucket.
func startBucket(t *testing.T, clock *shiftedClock) string {
	memory := s3mem.New(s3mem.WithTimeSource(clock))
	require.NoError(t, memory.CreateBucket("team"))
	handler := gofakes3.New(memory, gofakes3.WithTimeSource(clock), gofakes3.WithTimeSkewLimit(0)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", clock.Now().UTC().Format(http.TimeFormat))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return "s3://team?region=eu-central-1&s3ForcePathStyle=true&disableSSL=true&endpoint=" + strings.TrimPrefix(server.URL, "http://")
}

// TestPausedWriter stops an update in the middle of a creation until its lock has ended. Another update reports the
// creation and finishes; the first one, when it goes on, is told that it has lost the lock, and changes nothing. The
// server's clock is years from that of this machine, which changes nothing either.
func TestPausedWriter(t *testing.T) {
	lab := usertest.New(t)
	var clock shiftedClock
	const years = 10 * 365 * 24 * time.Hour
	clock.ahead.Store(int64(years))
	p := newInterruptible(t, lab, second)
	p.env = append(p.env, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "HUSK_BACKEND_URL="+startBucket(t, &clock))
	paused := p.husk("up", "--yes")
	var said strings.Builder
	paused.Stderr = &said
	stdout, err := paused.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, paused.Start())
	t.Cleanup(func() { _ = paused.Process.Kill() }) // after a failure it would stay stopped
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "waiting for out/go") {
	}
	require.NoError(t, paused.Process.Signal(syscall.SIGSTOP))

	locked, err := p.husk("up", "--yes").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(locked), "locked by another run", "the lock lasts, whatever this machine's clock says")
	p.goOn()
	clock.ahead.Add(int64(time.Minute)) // more than a lock lasts without a sign of life
	out, err := p.husk("up", "--yes").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "warning: lab:Wait first: an earlier run was cut off while creating this resource, which may exist or not")
	before, err := p.husk("stack", "export").Output()
	require.NoError(t, err)

	require.NoError(t, paused.Process.Signal(syscall.SIGCONT))
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	p.fails(paused, 3) // another run has taken the stack
	require.Contains(t, said.String(), "this run no longer holds the lock of the stack demo/dev")
	require.NotRegexp(t, `second +created`, rest.String())
	after, err := p.husk("stack", "export").Output()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the run that lost its lock changed nothing")
	out, err = p.husk("up", "--yes").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "nothing changed")
}

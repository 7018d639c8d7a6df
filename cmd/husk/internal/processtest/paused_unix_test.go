//go:build unix

package processtest

import (
	"bufio"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

// TestPausedWriter stops an update in the middle of a creation until its lock has ended. Another update reports the
// creation and finishes; the first one, when it goes on, is told that it has lost the lock, and changes nothing. The
// server's clock is years from that of this machine, which changes nothing either.
func TestPausedWriter(t *testing.T) {
	lab := usertest.New(t)
	bucket := s3test.New()
	const years = 10 * 365 * 24 * time.Hour
	bucket.Jump(years)
	p := newInterruptible(t, lab, second)
	p.env = append(p.env, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "HUSK_BACKEND_URL="+s3test.Start(t, bucket))
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
	bucket.Jump(time.Minute) // more than a lock lasts without a sign of life
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

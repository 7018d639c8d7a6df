package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

func (b *bench) revoke(admin *runapi.Client, name string) {
	b.t.Helper()
	_, err := admin.Call(b.t.Context(), http.MethodDelete, "/v1/tokens/"+name, nil, nil)
	require.NoError(b.t, err)
}

// watch asks for the log of a run.
func (b *bench) watch(ctx context.Context, c *runapi.Client, id string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/v1/runs/"+id+"/log", nil)
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+c.Token())
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A token that is revoked ends what was begun with it: following a log, waiting for a run, and the runs of a worker.
func TestRevokedTokens(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		admin, reader, worker, thief := b.client("acme", "admin", runapi.Admin), b.client("acme", "reader", runapi.Read), b.client("acme", "w", runapi.Work), b.client("acme", "thief", runapi.Work)
		run := b.asked(admin, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim := b.next(worker, "w", nil)
		say := func(number int64, text string) error {
			lines := []runapi.Line{{Number: number, Stream: runapi.Out, Text: text}}
			_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
			return err
		}
		require.NoError(t, say(1, "before"))
		watching := b.watch(t.Context(), reader, run.ID)
		require.Equal(t, http.StatusOK, watching.StatusCode)
		ended := make(chan string)
		go func() {
			text, _ := io.ReadAll(watching.Body)
			ended <- string(text)
		}()
		b.revoke(admin, "reader")
		seen := <-ended // whatever the run logs, or nothing
		require.NoError(t, say(2, "after"))
		require.Contains(t, seen, "before")
		require.NotContains(t, seen, "after")
		require.Equal(t, http.StatusUnauthorized, b.watch(t.Context(), reader, run.ID).StatusCode)

		// A worker that waits.
		refused := make(chan error, 1)
		go func() {
			_, err := thief.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "thief", Slots: 1, Seconds: 50}, nil)
			refused <- err
		}()
		require.Eventually(t, func() bool {
			var s runapi.Status
			_, err := admin.Call(t.Context(), http.MethodGet, "/v1/status", nil, &s)
			return err == nil && len(s.Workers) == 2
		}, time.Minute, 10*time.Millisecond)
		b.revoke(admin, "thief")
		queued := b.asked(admin, runapi.NewRun{Project: "shop", Stack: "other"})
		require.Equal(t, http.StatusUnauthorized, status(<-refused))
		require.Equal(t, runapi.Queued, b.run(admin, queued.ID).State)

		// The run of a worker.
		b.revoke(admin, "w")
		require.Equal(t, http.StatusUnauthorized, status(say(3, "too late")))
		_, err := b.of(claim).Send(t.Context(), 0, http.MethodGet, "/v1/work/bundle", "", nil)
		require.Equal(t, http.StatusUnauthorized, status(err))
	})
}

// pages is a connection that notes how much is written at once, and that all of it has a deadline.
type pages struct {
	*httptest.ResponseRecorder
	t        *testing.T
	deadline time.Time
	// broken is the error of each write.
	broken       error
	now, largest int
}

func (p *pages) SetWriteDeadline(at time.Time) error {
	p.deadline = at
	return nil
}

func (p *pages) Write(b []byte) (int, error) {
	if until := time.Until(p.deadline); p.deadline.IsZero() || until > time.Hour {
		p.t.Error("a write without a deadline")
	}
	if p.broken != nil {
		return 0, p.broken
	}
	p.now += len(b)
	p.largest = max(p.largest, p.now)
	return p.ResponseRecorder.Write(b)
}

func (p *pages) FlushError() error {
	p.now = 0
	return nil
}

// A log is as long as it may be, whatever its run writes, and the run goes on. Who follows it gets it in pages, and does not
// keep the server waiting.
func TestLongLogs(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.next(worker, "w", nil)
	long := strings.Repeat("x", 300<<10) // more than a line may have
	var number int64
	for range 30 {
		var lines []runapi.Line
		for range 10 {
			number++
			lines = append(lines, runapi.Line{Number: number, Stream: runapi.Out, Text: long})
		}
		_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
		require.NoError(t, err)
	}
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	lines := b.log(ann, run.ID)
	const kept = 64<<20/(256<<10) - 1
	require.Len(t, lines, kept+2)
	for _, line := range lines[:kept] {
		require.Len(t, line, len("out: ")+256<<10)
	}
	require.Equal(t, []string{"server: What follows was not kept: a log has at most 64 MiB.", "server: Cancelled by ann."}, lines[kept:])

	follow := func(broken error) *pages {
		req := httptest.NewRequest(http.MethodGet, "/v1/runs/"+run.ID+"/log", nil)
		req.Header.Set("Authorization", "Bearer "+ann.Token())
		w := &pages{ResponseRecorder: httptest.NewRecorder(), t: t, broken: broken}
		b.server.ServeHTTP(w, req)
		return w
	}
	w := follow(nil)
	require.Greater(t, w.Body.Len(), 60<<20)
	require.Less(t, w.largest, 2<<20)
	require.Zero(t, follow(os.ErrDeadlineExceeded).Body.Len(), "who does not read is left")
}

// The logs that are followed with one token at once are bounded.
func TestManyFollowers(t *testing.T) {
	b := open(t, server.Options{})
	ann, bob := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Request)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	first, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 256 {
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		require.Equal(t, http.StatusOK, b.watch(ctx, ann, run.ID).StatusCode)
	}
	refused := b.watch(t.Context(), ann, run.ID)
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	require.Equal(t, "2", refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, b.watch(t.Context(), bob, run.ID).StatusCode)
	stop()
	// A client tries again by itself.
	done := errors.New("done")
	require.ErrorIs(t, ann.Follow(t.Context(), run.ID, 0, func(*runapi.Line, *runapi.Run) (bool, error) { return false, done }), done)
}

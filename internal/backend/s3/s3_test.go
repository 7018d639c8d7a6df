package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/faultproxy"
)

// start starts a server with an empty bucket, behind a handler that may change requests.
func start(t *testing.T, change func(*http.Request)) (address string) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	memory := s3mem.New()
	require.NoError(t, memory.CreateBucket("team"))
	handler := gofakes3.New(memory).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change != nil {
			change(r)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

var prefixes atomic.Int32

func open(t *testing.T, address, prefix string) *backend.Backend {
	b, err := s3.Open(t.Context(), fmt.Sprintf("s3://team/%s?endpoint=%s&region=eu-central-1&s3ForcePathStyle=true&disableSSL=true", prefix, address), t.TempDir())
	require.NoError(t, err)
	return b
}

func openNew(t *testing.T, address string) *backend.Backend {
	return open(t, address, fmt.Sprint("test/", prefixes.Add(1)))
}

func TestS3(t *testing.T) {
	address := start(t, nil)
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return openNew(t, address).State })
	})
	t.Run("backend", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) *backend.Backend { return openNew(t, address) })
	})
	t.Run("history under faults", func(t *testing.T) {
		var proxies []*faultproxy.Proxy
		backendtest.History(t, func(int) state.Store {
			proxy := faultproxy.Start(t, address)
			proxies = append(proxies, proxy)
			return open(t, proxy.Address(), "history").State
		}, faultproxy.Faults(&proxies))
	})
}

// TestServersWithoutConditions checks that a server that ignores a condition is refused.
func TestServersWithoutConditions(t *testing.T) {
	for _, header := range []string{"If-None-Match", "If-Match"} {
		t.Run(header, func(t *testing.T) {
			address := start(t, func(r *http.Request) { r.Header.Del(header) })
			err := openNew(t, address).Check(t.Context())
			require.ErrorContains(t, err, header)
			require.ErrorContains(t, err, "overwriting each other's state")
		})
	}
}

func TestURLs(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for url, want := range map[string]string{
		"s3://team":                                   "no region",
		"s3:///prefix?region=x":                       "form s3://",
		"s3://key:secret@team?region=x":               "credentials are not part",
		"s3://team?region=x&acl=public":               `parameter "acl"`,
		"s3://team?region=x&s3ForcePathStyle=perhaps": "true or false",
	} {
		_, err := s3.Open(t.Context(), url, t.TempDir())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "key:secret")
	}
	b, err := s3.Open(t.Context(), "s3://team/infra/?region=eu-central-1", t.TempDir())
	require.NoError(t, err)
	require.Equal(t, "s3://team/infra", b.Place)
}

func TestNoBucket(t *testing.T) {
	address := start(t, nil)
	b, err := s3.Open(t.Context(), "s3://nobody?endpoint=http://"+address+"&region=x&s3ForcePathStyle=true", t.TempDir())
	require.NoError(t, err)
	require.ErrorContains(t, b.Check(t.Context()), "check the bucket")
}

// TestLeaseOfAChangedStack has two processes change a stack in turn: each finds what the other has left.
func TestLeaseOfAChangedStack(t *testing.T) {
	address := start(t, nil)
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	mine, others := open(t, address, "turns").State.(state.Opener), open(t, address, "turns").State.(state.Opener)
	require.NoError(t, mine.Create(ctx, name, []byte(`{"is":"first"}`)))
	change := func(s state.Opener, was, is string) uint64 {
		t.Helper()
		l, c, err := s.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"is":%q}`, was), string(c.Checkpoint))
		require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("x")))
		require.NoError(t, l.Checkpoint(ctx, c.Sequence+1, fmt.Appendf(nil, `{"is":%q}`, is)))
		require.NoError(t, l.Release(ctx))
		return l.Token()
	}
	first := change(mine, "first", "second")
	second := change(others, "second", "third")
	third := change(mine, "third", "fourth")
	require.Greater(t, second, first)
	require.Greater(t, third, second)
	held, _, err := others.LeaseAndLoad(ctx, name, state.Holder{PID: 2})
	require.NoError(t, err)
	_, _, err = mine.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrLocked)
	require.NoError(t, held.Remove(ctx))
	require.NoError(t, held.Release(ctx))
	_, _, err = mine.LeaseAndLoad(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrStackNotFound)
}

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/runapi"
)

// upload begins to send a bundle, of which nothing comes until the caller writes it. taken is closed once the server wants
// it, and status receives that of the answer.
func (b *bench) upload(c *runapi.Client, content string) (write func(), taken chan struct{}, status chan *http.Response) {
	b.t.Helper()
	body, w := io.Pipe()
	taken, status = make(chan struct{}), make(chan *http.Response, 1)
	ctx := httptrace.WithClientTrace(b.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(taken) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, b.url+"/v1/bundles/"+digest(content), body)
	require.NoError(b.t, err)
	req.ContentLength = int64(len(content))
	req.Header.Set("Authorization", "Bearer "+c.Token())
	req.Header.Set("Expect", "100-continue")
	go func() {
		resp, err := (&http.Transport{ExpectContinueTimeout: 1 << 40, TLSClientConfig: &tls.Config{}}).RoundTrip(req)
		if err != nil {
			b.t.Error(err)
			resp = &http.Response{Body: http.NoBody}
		}
		_ = resp.Body.Close()
		status <- resp
	}()
	return func() {
		_, _ = io.Copy(w, strings.NewReader(content))
		_ = w.Close()
	}, taken, status
}

// The files that are sent at once are bounded, for a token, for a team, and for the server. Who is refused hears when to
// try again, before anything is sent.
func TestUploadsAreBounded(t *testing.T) {
	b := open(t, server.Options{})
	const most = 60 << 20
	large := strings.Repeat("x", most)
	var ends []func()
	hold := func(c *runapi.Client) {
		write, taken, status := b.upload(c, large)
		<-taken
		ends = append(ends, func() {
			write()
			require.Equal(t, http.StatusNoContent, (<-status).StatusCode)
		})
	}
	refused := func(c *runapi.Client, want int) {
		t.Helper()
		_, _, status := b.upload(c, large)
		resp := <-status
		require.Equal(t, want, resp.StatusCode)
		require.Equal(t, "2", resp.Header.Get("Retry-After"))
	}
	ann, bob, carl := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Request), b.client("acme", "carl", runapi.Request)
	eve, frank := b.client("evil", "eve", runapi.Request), b.client("evil", "frank", runapi.Request)
	other := b.client("other", "gil", runapi.Request)
	hold(ann)
	refused(ann, http.StatusTooManyRequests) // the token
	hold(bob)
	refused(carl, http.StatusTooManyRequests) // the team
	hold(eve)
	hold(frank)
	refused(other, http.StatusServiceUnavailable) // the server
	small := strings.Repeat("y", 1<<20)
	require.NoError(t, ann.SendBundle(t.Context(), digest(small), []byte(small)), "what is small is taken nevertheless")
	for _, end := range ends {
		end()
	}
	require.NoError(t, other.SendBundle(t.Context(), digest(large), []byte(large)))
	require.NoError(t, ann.SendBundle(t.Context(), digest(large+"more"), []byte(large+"more")))
}

// What is wrong with a bundle is said before it is sent.
func TestUploadsThatAreRefused(t *testing.T) {
	for want, o := range map[int]server.Options{http.StatusForbidden: {Quota: 1 << 20}, http.StatusRequestEntityTooLarge: {}} {
		b := open(t, o)
		content := strings.Repeat("x", 65<<20)
		if o.Quota > 0 {
			content = content[:2<<20]
		}
		_, taken, status := b.upload(b.client("acme", "ann", runapi.Request), content)
		require.Equal(t, want, (<-status).StatusCode)
		select {
		case <-taken:
			require.Fail(t, "the server wants what it refuses")
		default:
		}
	}
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Request)
	_, err := ann.Send(t.Context(), 0, http.MethodPut, "/v1/bundles/none", "", []byte("x"))
	require.Equal(t, http.StatusBadRequest, status(err))
}

// Workers that get files and do not read them hinder no others.
func TestDownloadsAreBounded(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	large := strings.Repeat("x", 60<<20)
	require.NoError(t, ann.SendBundle(t.Context(), digest(large), []byte(large)))
	var held []*http.Response
	get := func(token string) *http.Response {
		req, err := http.NewRequest(http.MethodGet, b.url+"/v1/work/bundle", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err)
		held = append(held, resp)
		return resp
	}
	var claims []*runapi.Claim
	for _, stack := range []string{"one", "two", "three"} {
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: stack, Bundle: digest(large)})
		claims = append(claims, b.next(worker, "w", nil))
	}
	require.Equal(t, http.StatusOK, get(claims[0].Token).StatusCode)
	again := get(claims[0].Token)
	require.Equal(t, http.StatusServiceUnavailable, again.StatusCode, "the run; a worker would take another status for its loss")
	require.Equal(t, "2", again.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, get(claims[1].Token).StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, get(claims[2].Token).StatusCode, "the team")
	for _, resp := range held {
		require.NoError(t, resp.Body.Close())
	}
	content, err := b.of(claims[2]).Send(t.Context(), 1<<40, http.MethodGet, "/v1/work/bundle", "", nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(large), content))
}

// A request is refused if its body has more after its JSON, or if its body is cut off.
func TestBodiesThatAreNotOne(t *testing.T) {
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Admin)
	_, err := ann.Send(t.Context(), 0, http.MethodPost, "/v1/tokens", "application/json", []byte(`{"name":"x","role":"read"} {}`))
	require.Equal(t, http.StatusBadRequest, status(err))
	require.ErrorContains(t, err, "something follows it")
	_, err = ann.Send(t.Context(), 0, http.MethodPost, "/v1/tokens", "application/json", bytes.Repeat([]byte(" "), 2<<20))
	require.Equal(t, http.StatusRequestEntityTooLarge, status(err))
	req := httptest.NewRequest(http.MethodPost, "/v1/tokens", io.MultiReader(strings.NewReader(`{"name":`), broken{}))
	req.Header.Set("Authorization", "Bearer "+ann.Token())
	answer := httptest.NewRecorder()
	b.server.ServeHTTP(answer, req)
	require.Equal(t, http.StatusRequestTimeout, answer.Code)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A request that ended early was not done, and its answer, if somebody reads it, does not say that it was.
func TestRequestsThatEnded(t *testing.T) {
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Request)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPut, "/v1/bundles/"+digest("files"), strings.NewReader("files"))
	req.Header.Set("Authorization", "Bearer "+ann.Token())
	answer := httptest.NewRecorder()
	b.server.ServeHTTP(answer, req)
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
}

package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/strictcbor"
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

// pipedLength is the Content-Length of requests whose body is a pipe.
const pipedLength = 20<<20 + 1

// post sends a request, and returns the response without its body.
func (b *bench) post(token, method, path string, body io.Reader) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, body)
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if _, piped := body.(*io.PipeReader); piped {
		req.ContentLength = pipedLength
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, remote.Path) {
		req.Header.Set("Content-Type", "application/cbor")
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	require.NoError(b.t, resp.Body.Close())
	return resp
}

// TestBodiesTakeAtMostEightTimes sends what would grow in the memory of the server to all that reads a body.
func TestBodiesTakeAtMostEightTimes(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
	b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	run := b.next(worker, "w", nil).Token
	const n = 1 << 20
	list := func(before, element, after string, n int) []byte {
		return []byte(before + strings.Repeat(element+",", n) + element + after)
	}
	cbor := func(field string, element byte) []byte {
		head := append([]byte{0xa1, 0x60 + byte(len(field))}, field...)
		return append(append(head, 0x9a, 0, n>>16-1, 0xff, 0xff), bytes.Repeat([]byte{element}, n-1)...)
	}
	for what, one := range map[string]struct {
		token, method, path string
		body                []byte
	}{
		"lines of a beat":      {run, http.MethodPost, "/v1/work/beat", list(`{"lines":[`, `{}`, `]}`, n)},
		"lines of a report":    {worker.Token(), http.MethodPost, "/v1/work/report", list(`{"lines":[`, `{}`, `]}`, n)},
		"an end":               {run, http.MethodPost, "/v1/work/end", list(`{"plan":[`, `0`, `]}`, n)},
		"an end with unknowns": {run, http.MethodPost, "/v1/work/end", list(`{"lines":[`, `{}`, `]}`, n)},
		"labels of a worker":   {worker.Token(), http.MethodPost, "/v1/work/next", list(`{"labels":{`, `"a":""`, `}}`, n/10)},
		"options":              {ann.Token(), http.MethodPost, "/v1/runs", list(`{"options":[`, `""`, `]}`, n)},
		"a schedule":           {ann.Token(), http.MethodPut, "/v1/schedules/s", list(`{"run":{"options":[`, `""`, `]}}`, n)},
		"a token":              {ann.Token(), http.MethodPost, "/v1/tokens", list(`{"projects":[`, `""`, `]}`, n/4)},
		"depth":                {run, http.MethodPost, "/v1/work/beat", bytes.Repeat([]byte(`[`), n)},
		"records":              {ann.Token(), http.MethodPost, remote.Path + "set-history", cbor("records", 0x40)},
		"modules":              {ann.Token(), http.MethodPost, remote.Path + "release-with", cbor("modules", 0x60)},
		"a short call":         {ann.Token(), http.MethodPost, remote.Path + "load", cbor("records", 0x40)[:900_000]},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp := b.post(one.token, one.method, one.path, bytes.NewReader(one.body))
		runtime.ReadMemStats(&after)
		require.Equal(t, 4, resp.StatusCode/100, "%s: %s", what, resp.Status)
		const constant = 4 << 20 // the database, timers, and this test
		require.LessOrEqual(t, int64(after.TotalAlloc-before.TotalAlloc), int64(len(one.body))*(intake.Ratio+2)+constant, what)
	}
	require.Less(t, b.server.MemoryInUse(), int64(remembered))
}

// TestStatesOfManyValues has the server read states that were written to grow in its memory: it counts their values first.
func TestStatesOfManyValues(t *testing.T) {
	quiet(t)
	const memory = 64 << 20
	name := state.StackName{Project: "shop", Name: "dev"}
	hostile := []byte(`{"version":3,"deployment":{"resources":[{"urn":"urn:pulumi:a::b::c:d:E::f","type":"c:d:E","inputs":{"a":[` + strings.Repeat("0,", 1<<20) + `0]}}]}}`)
	took := func(do func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	dir := t.TempDir()
	b := open(t, server.Options{Memory: memory, Dir: dir})
	ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
	b.asked(ann, runapi.NewRun{Project: name.Project, Stack: name.Name})
	claim := b.next(worker, "w", nil)
	stacks := b.stacks(claim.Token)
	require.NoError(t, stacks.State.Create(t.Context(), name, hostile))
	require.LessOrEqual(t, took(func() {
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "it could not be recorded"}))
	}), int64(memory), "whether something is pending")
	require.NoError(t, b.stacks(ann.Token()).Modules.Put(t.Context(), digest("x"), func() ([]byte, error) { return []byte("x"), nil }))
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "tenants", "acme.db"))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE kept SET at = 1")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.LessOrEqual(t, took(func() {
		status, answer := b.state(ann.Token(), "modules/collect", fields{"call": rand.Text()})
		require.True(t, failed(status, answer), answer)
	}), int64(memory), "which modules it names")

	b = open(t, server.Options{Memory: memory, RequireApproval: true})
	ann = b.client("acme", "ann", runapi.Admin)
	require.LessOrEqual(t, took(func() {
		status, answer := b.state(ann.Token(), "create", fields{"stack": stackField(name), "call": rand.Text(), "content": hostile[:1<<20-4096]})
		require.True(t, failed(status, answer), answer)
	}), int64(memory), "whether it is empty")
}

// remembered bounds what the calls of a test take that the server remembers, in bytes.
const remembered = 64 << 10

// TestMemoryIsUsedUp has the server refuse what it has no memory for, and take it once it has.
func TestMemoryIsUsedUp(t *testing.T) {
	quiet(t)
	const memory = 40 << 20
	b := open(t, server.Options{Memory: memory})
	ann, bob := b.client("acme", "ann", runapi.Admin), b.client("other", "bob", runapi.Admin)
	worker := b.client("acme", "w", runapi.Work)
	small := strings.Repeat("y", 1<<20)
	name := state.StackName{Project: "shop", Name: "dev"}
	require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), name, []byte(strings.Repeat(" ", 6<<20)+"{}")))
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.next(worker, "w", nil)
	// A body that has come to 20 MiB, and stays where it is.
	body, w := io.Pipe()
	ended := make(chan *http.Response)
	large := strings.Repeat("x", 20<<20)
	go func() { ended <- b.post(ann.Token(), http.MethodPut, "/v1/bundles/"+digest(large+"y"), body) }()
	_, err := io.WriteString(w, large)
	require.NoError(t, err)
	for b.server.MemoryInUse() < 20<<20 {
		runtime.Gosched() // until it has read that
	}
	tryLater := func(resp *http.Response) {
		t.Helper()
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Equal(t, "2", resp.Header.Get("Retry-After"))
	}
	lines := `{"lines":[{"number":1,"stream":"out","text":"` + strings.Repeat("x", 6<<20) + `"}]}`
	for range 3 {
		tryLater(b.post(ann.Token(), http.MethodPut, "/v1/bundles/"+digest(large), strings.NewReader(large)))
		tryLater(b.post(claim.Token, http.MethodPost, "/v1/work/beat", strings.NewReader(lines)))
		status, answer := b.state(ann.Token(), "load", fields{"stack": fields{"Project": name.Project, "Name": name.Name}})
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, answer, "try again")
	}
	require.NoError(t, bob.SendBundle(t.Context(), digest(small), []byte(small)), "others have what is left")
	require.Equal(t, runapi.Running, b.run(ann, run.ID).State, "who only asks is answered")
	_, err = io.WriteString(w, "x")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, http.StatusBadRequest, (<-ended).StatusCode, "it is not what was announced")
	require.Equal(t, http.StatusOK, b.post(claim.Token, http.MethodPost, "/v1/work/beat", strings.NewReader(lines)).StatusCode)
	_, err = b.stacks(ann.Token()).State.Load(t.Context(), name)
	require.NoError(t, err)
	over := strings.Repeat("x", memory)
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(ann.Token(), http.MethodPut, "/v1/bundles/"+digest(over), strings.NewReader(over)).StatusCode, "it would never fit")
	require.Less(t, b.server.MemoryInUse(), int64(remembered), "all is given back")
}

// TestReadsAreRefusedBeforeTheyAreLoaded has each call and each route that answers with something large asked for while there is
// memory for nothing large: the server refuses it before the database gives it, and answers once there is memory. A call or a
// route that is in neither list fails.
func TestReadsAreRefusedBeforeTheyAreLoaded(t *testing.T) {
	quiet(t)
	small := map[string]string{ // why nothing of it is large
		"POST /v1/login": "one token", "POST /v1/login/device": "one code",
		"GET /v1/whoami": "one name", "GET /v1/schedules/{name}": "one request", "HEAD /v1/bundles/{digest}": "no content", "POST /v1/work/beat": "a number", "POST /v1/work/report": "no content",
		"POST /v1/work/end": "no content", "POST /v1/work/unrecorded": "no content", "PUT /v1/bundles/{digest}": "no content", "PUT /v1/schedules/{name}": "one request", "DELETE /v1/schedules/{name}": "no content", "POST /v1/tokens": "one token",
		"DELETE /v1/tokens/{name}": "no content",
		"check":                    "no content", "create": "no content", "break": "no content", "held": "no content", "release": "no content", "release-with": "digests that were sent", "beat": "no content", "reset": "three names",
		"append": "no content", "checkpoint": "no content", "checkpoint-both": "no content", "rename": "no content", "remove": "no content", "backups": "ten names", "set-history": "no content",
		"modules/has": "a truth", "modules/put": "no content", "modules/keep": "a truth", "modules/collect": "no content", "kv/save": "a version", "runs/list": "fifty names", "runs/put": "no content",
		"keys/encrypt": "one key", "keys/decrypt": "one key",
	}
	everywhere(t, func(t *testing.T, o server.Options) {
		const memory, size = 40 << 20, 4 << 20
		o.Memory, o.Dir = memory, t.TempDir()
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		name, leased := state.StackName{Project: "shop", Name: "dev"}, state.StackName{Project: "shop", Name: "leased"}
		large := strings.Repeat("x", size)
		files := digest(large)
		checkpoint := []byte(strings.Repeat(" ", size) + "{}")
		lease := fields{"stack": stackField(leased), "lease": rand.Text()}
		call := func(name string, f fields) {
			t.Helper()
			status, answer := b.state(ann.Token(), name, f.with(fields{"call": rand.Text()}))
			require.False(t, failed(status, answer), "%s: %d %.200s", name, status, answer)
		}
		stack := fields{"stack": stackField(name)}
		call("create", stack.with(fields{"content": checkpoint}))
		call("create", lease.with(fields{"lease": "", "content": []byte("{}")}))
		call("lease", lease.with(fields{"load": true}))
		for n, content := range [][]byte{checkpoint, []byte("{}"), checkpoint} { // which keeps the first as a backup
			call("append", lease.with(fields{"sequence": n + 1, "content": []byte("{}")}))
			call("checkpoint", lease.with(fields{"sequence": n + 1, "content": content}))
		}
		call("set-history", stack.with(fields{"records": [][]byte{[]byte(large)}}))
		call("modules/put", fields{"id": files, "content": []byte(large)})
		call("kv/save", stack.with(fields{"id": "random", "content": []byte(large)}))
		call("runs/put", stack.with(fields{"id": "run", "content": []byte(large)}))
		backups, err := b.stacks(ann.Token()).State.Backups(t.Context(), leased)
		require.NoError(t, err)

		require.NoError(t, ann.SendBundle(t.Context(), files, []byte(large)))
		options := func() (all []string) { // as long as they may be, and longer in JSON
			for range 60 {
				all = append(all, "--target="+strings.Repeat("<", 4000))
			}
			return all
		}()
		waiting := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "waiting", Bundle: files, Options: options})
		claim := b.next(worker, "w", nil) // a run whose token is used below
		require.Equal(t, waiting.ID, claim.ID)
		planned := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "planned", Bundle: files})
		require.NotNil(t, b.next(worker, "w", nil))
		b.client("acme", "bob", runapi.Approve)
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET state = 'queued', ready = 1, token = '', approved_by = 'bob' WHERE id = ?", planned.ID))
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_plans (run, content) VALUES (?, ?)", planned.ID, []byte(large)))
		for n := range 3 {
			schedule := nightly("dev")
			schedule.Run.Bundle, schedule.Run.Options = files, options
			_, err := b.setSchedule(ann, fmt.Sprintf("s%d", n), schedule)
			require.NoError(t, err)
		}
		_, err = b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Text: large[:1<<18]}}}, nil)
		require.NoError(t, err)
		numbers := func(n int) string {
			if o.Database != "" {
				return fmt.Sprintf("generate_series(1, %d) AS n (i)", n)
			}
			return fmt.Sprintf("(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)", n)
		}
		const many = 8000
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_tokens (hash, tenant, name, person, issued_by, role, projects, made, expires) SELECT 'h' || i, 'acme', 'token-' || i, 'x', '', 'read', '[]', 0, 0 FROM "+numbers(many)))
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_audit (tenant, at, token, person, address, action, subject, detail) SELECT 'acme', 4000000000000, '', '', '', '', '', '"+large[:1000]+"' FROM "+numbers(many)))
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_workers (tenant, name, labels, slots, running, seen) SELECT 'acme', 'worker-' || i, '{}', 1, 0, 4000000000000 FROM "+numbers(many)))
		for _, statement := range []string{
			"INSERT INTO %[1]sstacks (project, name, present) SELECT 'project-' || i, 'dev', %[2]s FROM " + numbers(many),
			"INSERT INTO %[1]skv (stack, provider, content, version) SELECT s.id, 'provider-' || i, CAST('{}' AS %[3]s), 1 FROM %[1]sstacks s, " + numbers(many) + " WHERE s.name = 'leased'",
		} {
			if o.Database != "" {
				require.NoError(t, b.server.Exec(t.Context(), fmt.Sprintf(statement, "husk_acme.", "true", "bytea")))
				continue
			}
			db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(o.Dir, "tenants", "acme.db"))+"?_pragma=busy_timeout(15000)")
			require.NoError(t, err)
			_, err = db.Exec(fmt.Sprintf(statement, "", "1", "blob"))
			require.NoError(t, err)
			require.NoError(t, db.Close())
		}

		get := func(path string) func() *http.Response {
			return func() *http.Response { return b.post(ann.Token(), http.MethodGet, path, http.NoBody) }
		}
		states := func(name string, f fields) func() *http.Response {
			return func() *http.Response {
				status, answer := b.state(ann.Token(), name, f.with(fields{}))
				if strings.Contains(answer, "failure") && status == http.StatusOK {
					require.Fail(t, "the call failed", "%s: %.300q", name, answer)
				}
				return &http.Response{StatusCode: status}
			}
		}
		reads := map[string]func() *http.Response{
			"GET /v1/runs": get("/v1/runs"), "GET /v1/runs/{id}": get("/v1/runs/" + waiting.ID), "GET /v1/schedules": get("/v1/schedules"),
			"GET /v1/tokens": get("/v1/tokens"), "GET /v1/audit": get("/v1/audit"), "GET /v1/status": get("/v1/status"),
			"GET /v1/work/bundle": func() *http.Response { return b.post(claim.Token, http.MethodGet, "/v1/work/bundle", http.NoBody) },
			"list":                states("list", fields{}), "load": states("load", stack), "leased-load": states("leased-load", lease), "salvage": states("salvage", lease),
			"backup": states("backup", fields{"stack": stackField(leased), "id": backups[1].ID}), "history": states("history", stack), "modules/get": states("modules/get", fields{"id": files}),
			"kv/load": states("kv/load", stack.with(fields{"id": "random"})), "kv/list": states("kv/list", fields{"stack": stackField(leased)}), "runs/get": states("runs/get", stack.with(fields{"id": "run"})),
			// These change something: they come last, in this order.
			"lease": states("lease", stack.with(fields{"call": rand.Text(), "lease": rand.Text(), "load": true})),
			"GET /v1/runs/{id}/log": func() *http.Response {
				return b.post(ann.Token(), http.MethodGet, "/v1/runs/"+waiting.ID+"/log", http.NoBody)
			},
			"POST /v1/work/next": func() *http.Response {
				return b.post(worker.Token(), http.MethodPost, "/v1/work/next", strings.NewReader(`{"worker":"w","slots":1}`))
			},
			"POST /v1/runs/{id}/approve": func() *http.Response {
				return b.post(ann.Token(), http.MethodPost, "/v1/runs/"+waiting.ID+"/approve", http.NoBody)
			},
			"POST /v1/runs/{id}/reject": func() *http.Response {
				return b.post(ann.Token(), http.MethodPost, "/v1/runs/"+waiting.ID+"/reject", http.NoBody)
			},
			"POST /v1/runs/{id}/retry": func() *http.Response {
				return b.post(ann.Token(), http.MethodPost, "/v1/runs/"+waiting.ID+"/retry", http.NoBody)
			},
			"POST /v1/runs": func() *http.Response {
				return b.post(ann.Token(), http.MethodPost, "/v1/runs", strings.NewReader(fmt.Sprintf(`{"id":%q,"project":"shop","stack":"waiting","operation":"up","bundle":%q}`, waiting.ID, files)))
			},
			"POST /v1/runs/{id}/cancel": func() *http.Response {
				return b.post(ann.Token(), http.MethodPost, "/v1/runs/"+waiting.ID+"/cancel", http.NoBody)
			},
		}
		for _, name := range append(operations(t), remote.Operations()...) {
			require.True(t, (reads[name] != nil) != (small[name] != ""), "%s is in one of the lists", name)
		}

		const left = 1 << 20
		give := b.server.Take("acme", memory/4*3-b.server.MemoryInUse()-left)
		for what, read := range reads {
			least := int64(1 << 40)
			for range 3 { // others allocate as well
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				resp := read()
				runtime.ReadMemStats(&after)
				require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, what)
				if resp.Header != nil {
					require.Equal(t, "2", resp.Header.Get("Retry-After"), what)
				}
				least = min(least, int64(after.TotalAlloc-before.TotalAlloc))
			}
			require.Less(t, least, int64(left), "%s: it was loaded", what)
		}
		give()
		idle := func() { // what is answered is given back a moment later
			require.Eventually(t, func() bool { return b.server.MemoryInUse() < remembered }, time.Minute, time.Millisecond)
		}
		for what, read := range reads {
			if strings.HasPrefix(what, "POST /v1/runs/{id}/") || strings.HasSuffix(what, "/log") || what == "lease" {
				continue // they wait for the end of the run, or end it, or are remembered
			}
			idle()
			resp := read()
			require.Equal(t, 2, resp.StatusCode/100, "%s: %d", what, resp.StatusCode)
		}
		idle()
		require.Equal(t, http.StatusOK, reads["POST /v1/runs/{id}/cancel"]().StatusCode)
		idle()
		require.Equal(t, http.StatusOK, reads["lease"]().StatusCode)
	})
}

// TestAnswersAreCountedWhileTheyAreRead has a client repeat a call and not read its answer, which the server forgets once the
// client is heard of again: the answer is in memory nevertheless.
func TestAnswersAreCountedWhileTheyAreRead(t *testing.T) {
	const size = 16 << 20 // more than a connection takes that nobody reads
	b := open(t, server.Options{Memory: 512 << 20})
	ann := b.client("acme", "ann", runapi.Admin)
	name := state.StackName{Project: "shop", Name: "dev"}
	require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), name, []byte(strings.Repeat(" ", size)+"{}")))
	lease := fields{"stack": stackField(name), "lease": rand.Text()}
	call := lease.with(fields{"call": rand.Text(), "load": true})
	status, answer := b.state(ann.Token(), "lease", call)
	require.False(t, failed(status, answer))
	body, err := strictcbor.Marshal(map[string]any(call))
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+remote.Path+"lease", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+ann.Token())
	req.Header.Set("Content-Type", "application/cbor")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	for range 2 { // the first forgets what is remembered
		status, answer = b.state(ann.Token(), "beat", lease)
		require.False(t, failed(status, answer))
	}
	require.Greater(t, b.server.MemoryInUse(), int64(size))
	require.NoError(t, resp.Body.Close())
	require.Eventually(t, func() bool { return b.server.MemoryInUse() < remembered }, time.Minute, time.Millisecond)
}

package server_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/strictcbor"
)

// TestReadsAreRefusedBeforeTheyAreLoaded has each call and each route that answers with something large asked for while there is
// memory for nothing large: the server refuses it before the database gives it, and answers once there is memory. A call or a
// route that is in neither list fails.
func TestReadsAreRefusedBeforeTheyAreLoaded(t *testing.T) {
	quiet(t)
	small := map[string]string{ // why nothing of it is large
		"GET /v1/whoami": "one name", "GET /v1/schedules/{name}": "one request", "HEAD /v1/bundles/{digest}": "no content", "POST /v1/work/beat": "a number", "POST /v1/work/report": "no content",
		"POST /v1/work/end": "no content", "PUT /v1/bundles/{digest}": "no content", "PUT /v1/schedules/{name}": "one request", "DELETE /v1/schedules/{name}": "no content", "POST /v1/tokens": "one token",
		"DELETE /v1/tokens/{name}": "no content",
		"check":                    "no content", "create": "no content", "break": "no content", "release": "no content", "release-with": "digests that were sent", "beat": "no content", "reset": "three names",
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
		backups, err := b.stacks(ann.Token()).State.(state.Archive).Backups(t.Context(), leased)
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
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET state = 'queued', token = '', plan = ? WHERE id = ?", []byte(large), planned.ID))
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
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_workers (tenant, name, labels, slots, running, seen) SELECT 'acme', 'worker-' || i, '{}', 1, 0, 4000000000000 FROM "+numbers(many)))
		for _, statement := range []string{
			"INSERT INTO %[1]sstacks (project, name, present, checkpoint) SELECT 'project-' || i, 'dev', %[2]s, CAST('{}' AS %[3]s) FROM " + numbers(many),
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
			"GET /v1/tokens": get("/v1/tokens"), "GET /v1/status": get("/v1/status"),
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

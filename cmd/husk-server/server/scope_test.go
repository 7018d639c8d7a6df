package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/strictcbor"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// fields are those of a call of /v1/state.
type fields map[string]any

// with returns the fields with others.
func (f fields) with(others fields) fields {
	all := fields{}
	for _, one := range []fields{f, others} {
		for name, value := range one {
			all[name] = value
		}
	}
	return all
}

// state sends a call about states as it is, and returns the status and the body of the answer.
func (b *bench) state(token, call string, f fields) (int, string) {
	b.t.Helper()
	body, err := strictcbor.Marshal(map[string]any(f))
	require.NoError(b.t, err)
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+remote.Path+call, bytes.NewReader(body))
	require.NoError(b.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/cbor")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, resp.Body.Close())
	return resp.StatusCode, string(answer)
}

// failed reports whether the answer to a call is an error.
func failed(status int, answer string) bool {
	return status != http.StatusOK || strings.Contains(answer, "failure")
}

func stackField(name state.StackName) fields {
	return fields{"Project": name.Project, "Name": name.Name}
}

// stateCall is one of /v1/state.
type stateCall struct {
	name string
	fields
}

// stateCalls are rows for all calls about two stacks.
type stateCalls struct {
	// mine are sent, in this order. The leases stay.
	mine []stateCall
	// theirs are these, and more with the same identifiers.
	theirs       []stateCall
	stack, other fields
	lease        string
}

func newStateCalls(name, second state.StackName) stateCalls {
	id, lease, otherLease := rand.Text, rand.Text(), rand.Text()
	module := []byte("canary module")
	stack, other := fields{"stack": stackField(name)}, fields{"stack": stackField(second)}
	mine := []stateCall{
		{"create", stack.with(fields{"call": id(), "content": []byte(`{"canary":"state"}`)})},
		{"create", other.with(fields{"call": id(), "content": []byte(`{"canary":"second"}`)})},
		{"check", fields{}}, {"list", fields{}}, {"load", stack},
		{"lease", stack.with(fields{"call": id(), "lease": lease, "load": true})},
		{"lease", other.with(fields{"call": id(), "lease": otherLease, "load": true})},
		{"beat", stack.with(fields{"lease": lease})},
		{"leased-load", stack.with(fields{"lease": lease})}, {"salvage", stack.with(fields{"lease": lease})},
		{"append", stack.with(fields{"call": id(), "lease": lease, "sequence": 1, "content": []byte("canary record")})},
		{"checkpoint", stack.with(fields{"call": id(), "lease": lease, "sequence": 1, "content": []byte(`{"canary":"checkpoint"}`)})},
		{"checkpoint-both", stack.with(fields{"call": id(), "lease": lease, "sequence": 1, "content": []byte(`{"canary":"both"}`),
			"other": stackField(second), "otherLease": otherLease, "otherContent": []byte(`{"canary":"both"}`)})},
		{"set-history", stack.with(fields{"call": id(), "records": [][]byte{[]byte("canary update")}})},
		{"history", stack}, {"backups", stack}, {"backup", stack.with(fields{"id": "1"})},
		{"modules/put", fields{"call": id(), "id": digest(string(module)), "content": module}},
		{"modules/has", fields{"id": digest(string(module))}}, {"modules/get", fields{"id": digest(string(module))}},
		{"modules/keep", fields{"call": id(), "id": digest(string(module))}}, {"modules/collect", fields{"call": id()}},
		{"kv/save", stack.with(fields{"call": id(), "id": "random", "content": []byte("canary value")})},
		{"kv/list", stack}, {"kv/load", stack.with(fields{"id": "random"})},
		{"runs/put", stack.with(fields{"call": id(), "id": "canary-run", "content": []byte("canary run")})},
		{"runs/list", stack}, {"runs/get", stack.with(fields{"id": "canary-run"})},
		{"keys/encrypt", fields{"content": []byte("canary key")}},
	}
	theirs := append(mine, []stateCall{
		{"held", stack},
		{"break", stack.with(fields{"call": id()})},
		{"release", stack.with(fields{"call": id(), "lease": lease})},
		{"release-with", stack.with(fields{"call": id(), "lease": lease, "id": "canary-run", "modules": []string{digest(string(module))}})},
		{"reset", stack.with(fields{"call": id(), "lease": lease, "content": []byte("{}")})},
		{"rename", stack.with(fields{"call": id(), "lease": lease, "other": stackField(state.StackName{Project: "a", Name: "renamed"}), "content": []byte("{}")})},
		{"remove", stack.with(fields{"call": id(), "lease": lease})},
		{"append", stack.with(fields{"call": id(), "lease": lease, "sequence": 2, "content": []byte("forged")})},
		{"checkpoint", stack.with(fields{"call": id(), "lease": lease, "sequence": 1, "content": []byte("forged")})},
		{"checkpoint-both", stack.with(fields{"call": id(), "lease": lease, "content": []byte("forged"), "other": stackField(second), "otherLease": otherLease, "otherContent": []byte("forged")})},
		{"leased-load", other.with(fields{"lease": lease})}, {"remove", other.with(fields{"call": id(), "lease": lease})},
	}...)
	return stateCalls{mine, theirs, stack, other, lease}
}

// TestNoIdentifierOfAnotherMeansAnything has another team, another token of the same team, and the runs of both use all that a
// client has chosen or got: leases, calls that were answered, digests, IDs, versions, and keys. A call without a row fails.
func TestNoIdentifierOfAnotherMeansAnything(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	const canary = "canary"
	name, second := state.StackName{Project: "a", Name: "dev"}, state.StackName{Project: "a", Name: "second"}
	ann := b.client("acme", "ann", runapi.Admin)
	calls := newStateCalls(name, second)
	mine, theirs, stack, other, lease := calls.mine, calls.theirs, calls.stack, calls.other, calls.lease
	tried := map[string]bool{}
	for _, c := range mine {
		status, answer := b.state(ann.Token(), c.name, c.fields)
		require.False(t, failed(status, answer), "%s: %d %s", c.name, status, answer)
		tried[c.name] = true
	}
	sealed, err := b.stacks(ann.Token()).Keys.Encrypt(t.Context(), []byte("canary key"))
	require.NoError(t, err)
	theirs = append(theirs, stateCall{"keys/decrypt", fields{"content": sealed}})
	for _, c := range theirs {
		tried[c.name] = true
	}
	for _, name := range remote.Operations() {
		require.True(t, tried[name], "the call %s has no row here", name)
	}

	eve := b.client("evil", "eve", runapi.Admin)
	evil := b.stacks(eve.Token())
	for _, one := range []state.StackName{name, second} { // the same names
		require.NoError(t, evil.State.Create(t.Context(), one, []byte(`{"own":1}`)))
	}
	b.asked(eve, runapi.NewRun{Project: "a", Stack: "dev"})
	evesRun := b.next(b.client("evil", "their worker", runapi.Work), "w", nil)
	b.asked(ann, runapi.NewRun{Project: "b", Stack: "dev"})
	runOfB := b.next(b.client("acme", "worker", runapi.Work), "w", nil)
	still := func(who string) {
		t.Helper()
		c, err := b.stacks(ann.Token()).State.Load(t.Context(), name)
		require.NoError(t, err, who)
		require.Equal(t, `{"canary":"both"}`, string(c.Checkpoint), who)
		status, answer := b.state(ann.Token(), "beat", stack.with(fields{"lease": lease}))
		require.False(t, failed(status, answer), "%s: the lease was taken away: %s", who, answer)
	}
	for who, token := range map[string]string{"another team": eve.Token(), "a run of another team": evesRun.Token} {
		for _, c := range theirs {
			forged := fields{} // a canary in an answer is none that was sent
			for _, content := range []string{"content", "otherContent"} {
				if c.fields[content] != nil && c.name != "keys/decrypt" && c.name != "modules/put" {
					forged[content] = []byte(`{"forged":1}`)
				}
			}
			if c.fields["records"] != nil {
				forged["records"] = [][]byte{[]byte("forged")}
			}
			status, answer := b.state(token, c.name, c.fields.with(forged))
			require.Less(t, status, http.StatusInternalServerError, "%s: %s", who, c.name)
			if c.name != "modules/get" { // which has the module that it has sent
				require.NotContains(t, strings.ReplaceAll(answer, "canary-run", ""), canary, "%s: %s %v", who, c.name, c.fields)
			}
		}
		still(who)
	}
	// In a team, the lease of one token is nothing to another: it may write the stack, once it has a lease of its own.
	bob := b.client("acme", "bob", runapi.Admin)
	for who, token := range map[string]string{"another token": bob.Token(), "a run of another project": runOfB.Token} {
		for _, c := range theirs {
			if c.fields["lease"] == nil || c.name == "lease" {
				continue
			}
			status, answer := b.state(token, c.name, c.fields)
			if strings.HasPrefix(c.name, "release") {
				continue // of a lease that is none, which is no error: below it is still there
			}
			require.True(t, failed(status, answer), "%s: %s: %s", who, c.name, answer)
			require.NotContains(t, answer, canary, "%s: %s", who, c.name)
		}
		still(who)
	}
	status, answer := b.state(bob.Token(), "lease", mine[5].fields)
	require.True(t, failed(status, answer), "the answer to her call is not for him: %s", answer)
	require.NotContains(t, answer, "checkpoint")
	// Her own call changes nothing if it arrives again after later ones.
	status, answer = b.state(ann.Token(), "append", mine[10].fields)
	require.True(t, failed(status, answer), answer)
	require.Contains(t, answer, "sequence")
	status, answer = b.state(ann.Token(), "append", mine[10].fields.with(other))
	require.True(t, failed(status, answer), answer)
	still("in the end")

	_, err = eve.Call(t.Context(), http.MethodDelete, "/v1/tokens/eve", nil, nil)
	require.NoError(t, err)
	status, _ = b.state(eve.Token(), "list", fields{})
	require.Equal(t, http.StatusUnauthorized, status)
}

// quiet has the server log nothing: it refuses much.
func quiet(t *testing.T) { logTo(t, slog.DiscardHandler) }

// hostile are texts that are no identifiers of anything.
func hostile() []string {
	return []string{
		"../x", "..", ".", "a/../../b", "/etc/passwd", `..\x`, "a\x00b", "\x00", strings.Repeat("x", 10_000), "%2e%2e%2f", "a\nb", "\x1b[2J", "\u202ea", "a b/c", "*", "'; DROP TABLE x; --", "C:x",
	}
}

// TestIdentifiersHaveForms sends texts that are none in the place of each identifier of each call and route: they are refused
// before anything is looked up with them, and never with an error of the server.
func TestIdentifiersHaveForms(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Admin)
	calls := newStateCalls(state.StackName{Project: "a", Name: "dev"}, state.StackName{Project: "a", Name: "second"})
	for _, c := range calls.mine {
		status, answer := b.state(ann.Token(), c.name, c.fields)
		require.False(t, failed(status, answer), "%s: %s", c.name, answer)
	}
	for _, c := range append(calls.theirs, stateCall{"keys/decrypt", fields{"content": []byte("x")}}) {
		for _, text := range hostile() {
			for field, value := range map[string]any{
				"stack": fields{"Project": text, "Name": "dev"}, "other": fields{"Project": "a", "Name": text}, "call": text, "lease": text, "otherLease": text, "id": text,
				"version": text + "\x01", "modules": []string{text}, "holder": fields{"user": text + "\x07"},
			} {
				if strings.HasPrefix(c.name, "kv/") && field == "id" && slices.Contains([]string{"*", "%2e%2e%2f", "'; DROP TABLE x; --"}, text) || field == "call" && c.fields["call"] == nil {
					continue // there is no such provider, or calls that change nothing have no name
				}
				status, answer := b.state(ann.Token(), c.name, c.fields.with(fields{field: value}))
				require.Equal(t, http.StatusBadRequest, status, "%s: %s %.50q: %s", c.name, field, text, answer)
				require.NotContains(t, answer, "\x1b")
			}
		}
	}
	for _, operation := range operations(t) {
		method, path, _ := strings.Cut(operation, " ")
		at, _, is := strings.Cut(path, "{")
		if !is {
			continue
		}
		for _, text := range hostile() {
			if text == "." || text == ".." {
				continue // it is none in a path
			}
			end := ""
			if _, after, _ := strings.Cut(path, "}"); after != "" {
				end = after
			}
			_, err := ann.CallFor(t.Context(), 0, method, at+url.PathEscape(text)+end, nil, nil)
			require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, status(err), "%s %.50q: %v", operation, text, err)
		}
	}
	for _, query := range []string{"project=../x", "stack=%00", "project=" + strings.Repeat("x", 10_000), "limit=-1", "limit=99999999999999999999"} {
		_, err := ann.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs?"+query, nil, nil)
		require.Equal(t, http.StatusBadRequest, status(err), "%.50s: %v", query, err)
	}
	run := b.asked(ann, runapi.NewRun{Project: "a", Stack: "dev"})
	for _, after := range []string{"-1", "x", "99999999999999999999", "0x10"} {
		_, err := ann.CallFor(t.Context(), 0, http.MethodGet, fmt.Sprintf("/v1/runs/%s/log?after=%s", run.ID, after), nil, nil)
		require.Equal(t, http.StatusBadRequest, status(err), after)
	}
}

var (
	fuzzRequests = flag.Int("requests", 5000, "how many `requests` TestNoRequestFailsInside sends to a server with each database")
	update       = flag.Bool("update", false, "write the table of TestEachRouteForEachToken")
	fuzzSeed     = flag.Uint64("seed", 1, "chooses the requests")
)

// mutant returns a value of JSON or CBOR in which some parts are others, chosen at random.
func mutant(r *mathrand.Rand, value any) any {
	if r.IntN(6) == 0 {
		others := []any{nil, true, -1, 0, 1, int64(math.MinInt64), uint64(math.MaxUint64), 1.5, 1e308, "", []byte{0xff}, []any{}, map[string]any{}, []any{[]any{nil}}, map[string]any{"": []any{-1}}, strings.Repeat("[", 50_000)}
		for _, text := range hostile() {
			others = append(others, text)
		}
		return others[r.IntN(len(others))]
	}
	switch value := value.(type) {
	case fields:
		return mutant(r, map[string]any(value))
	case map[string]any:
		all := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			one := value[name]
			if r.IntN(12) == 0 {
				continue
			}
			if r.IntN(30) == 0 {
				name += "x"
			}
			all[name] = one
			if r.IntN(3) == 0 {
				all[name] = mutant(r, one)
			}
		}
		return all
	case []any:
		var all []any
		for _, one := range value {
			for range r.IntN(3) {
				all = append(all, mutant(r, one))
			}
		}
		return all
	case string:
		if len(value) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(value))
			return value[:i] + string(rune(r.IntN(0x300))) + value[i:]
		}
	}
	return value
}

// TestNoRequestFailsInside sends requests that are mutated at random. No answer is an internal error, even while the database is killed.
func TestNoRequestFailsInside(t *testing.T) {
	quiet(t)
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			var o server.Options
			var p *postgrestest.Server
			if database == "postgres" {
				p = postgrestest.Start(t)
				o.Database = p.URL("postgres", 0)
			}
			const round = 250
			r := mathrand.New(mathrand.NewPCG(*fuzzSeed, *fuzzSeed))
			b := open(t, o)
			tokens := []string{"", "husk_nobody"}
			ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
			for _, c := range []*runapi.Client{ann, ann, ann, bob, worker, b.client("acme", "reader", runapi.Read), b.client("other", "eve", runapi.Admin)} {
				tokens = append(tokens, c.Token())
			}
			require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
			n := runapi.NewRun{Project: "a", Stack: "dev", Operation: "up", Bundle: digest("files"), Options: []string{"--target=x"}, Labels: map[string]string{"region": "eu"}, Message: "text"}
			ended := b.asked(ann, runapi.NewRun{Project: "a", Stack: "dev"})
			require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
			line := runapi.Line{Number: 1, Stream: runapi.Out, Time: time.Now(), Text: "line"}
			bodies := map[string]any{
				"POST /v1/runs": n, "PUT /v1/schedules/{name}": runapi.Schedule{Cron: "0 4 * * *", Run: n}, "POST /v1/tokens": runapi.Token{Name: "spare", Role: runapi.Read, Projects: []string{"a*"}},
				"POST /v1/work/next": runapi.Ask{Worker: "w", Slots: 1, Labels: n.Labels}, "POST /v1/work/beat": runapi.Beat{Lines: []runapi.Line{line}},
				"POST /v1/work/end":    runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan"), Reason: "reason"},
				"POST /v1/work/report": runapi.Report{Run: *ended, Lines: []runapi.Line{line}}, "POST /v1/login": runapi.Login{IdentityToken: "a.b.c"}, "POST /v1/login/device": runapi.DeviceLogin{Issuer: "https://login.example"},
				"POST /v1/work/unrecorded": runapi.Unrecorded{Run: ended.ID, Token: "husk_run_x", Lease: 1, Records: []runapi.StateRecord{{Sequence: 1, Record: []byte("record")}}},
			}
			queries := []string{"", "?limit=1", "?project=a&stack=dev&open", "?after=0", "?before=1", "?pending", "?call=" + ended.ID, "?limit=%00", "?after=1e9", "?%zz", "?project=%ff"}
			names := append(hostile(), "spare", digest("files"), ended.ID, "")
			calls := newStateCalls(state.StackName{Project: "a", Name: "dev"}, state.StackName{Project: "a", Name: "second"}).theirs
			routes := operations(t)
			sometimes := func(value any) any {
				if r.IntN(3) == 0 {
					return value
				}
				return mutant(r, value)
			}
			seen := map[int]int{}
			for i := range *fuzzRequests {
				if i%round == 0 { // what earlier requests have ended is there again
					names[len(names)-1] = b.asked(ann, runapi.NewRun{Project: "a", Stack: "waiting"}).ID
					b.asked(ann, runapi.NewRun{Project: "a", Stack: rand.Text()})
					if claim := b.next(worker, "w", nil); claim != nil {
						tokens = append(tokens[:9], claim.Token, claim.Token)
					}
				}
				if p != nil {
					switch i % (4 * round) {
					case round + 50:
						p.Stop()
					case round + 100:
						p.Restart(t)
					}
				}
				authorization := "Bearer " + tokens[r.IntN(len(tokens))]
				method, path, content := http.MethodPost, "", []byte(nil)
				if r.IntN(2) == 0 {
					c := calls[r.IntN(len(calls))]
					path = remote.Path + c.name
					var err error
					content, err = strictcbor.Marshal(sometimes(c.fields))
					require.NoError(t, err)
				} else {
					operation := routes[r.IntN(len(routes))]
					method, path, _ = strings.Cut(operation, " ")
					name := names[len(names)-1-r.IntN(4)]
					if r.IntN(4) == 0 {
						name = names[r.IntN(len(names))]
					}
					if strings.HasSuffix(path, "/log") {
						name = ended.ID // the log of another run goes on
					}
					if i := strings.Index(path, "{"); i >= 0 {
						end := strings.Index(path, "}")
						path = path[:i] + url.PathEscape(name) + path[end+1:]
					}
					path += queries[r.IntN(len(queries))]
					if body := bodies[operation]; body != nil {
						text, err := json.Marshal(body)
						require.NoError(t, err)
						var value any
						require.NoError(t, json.Unmarshal(text, &value))
						content, err = json.Marshal(sometimes(value))
						require.NoError(t, err)
					}
				}
				if len(content) > 0 && r.IntN(8) == 0 {
					content[r.IntN(len(content))] ^= byte(1 << r.IntN(8))
				}
				status, answer := b.raw(authorization, method, path, string(content))
				require.NotEqual(t, http.StatusInternalServerError, status, "%d: %s %s %.300q: %s", i, method, path, content, answer)
				seen[status]++
			}
			t.Log(seen)
			require.Positive(t, seen[http.StatusOK])
			require.Equal(t, p != nil, seen[http.StatusServiceUnavailable] > 0)
		})
	}
}

// operations returns the operations of the API, as METHOD /path/{id}, with those that workers use.
func operations(t *testing.T) (all []string) {
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &document))
	for path, methods := range document.Paths {
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	// The document and the server have the same.
	source, err := os.ReadFile("http.go")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`"([A-Z]+ /v1/[^"]*)"`).FindAllStringSubmatch(string(source), -1) {
		if !slices.Contains(all, found[1]) {
			require.Regexp(t, `/v1/work/|^HEAD `, found[1], "the document does not have it")
			all = append(all, found[1])
		}
	}
	slices.Sort(all)
	return all
}

// TestEachRouteForEachToken compares which status each kind of token gets for each route and each call of /v1/state with testdata/access.txt,
// which -update writes. A new route is in it before it has users.
func TestEachRouteForEachToken(t *testing.T) {
	quiet(t)
	var table strings.Builder
	for _, o := range []server.Options{{}, {RequireApproval: true}} {
		b := open(t, o)
		n := runapi.NewRun{Project: "a", Stack: "dev", Operation: "preview"}
		ann := b.client("acme", "ann", runapi.Admin)
		var kinds []string
		tokens := map[string]string{}
		add := func(kind, token string) {
			kinds = append(kinds, kind)
			tokens[kind] = token
		}
		add("none", "")
		revoked := b.client("acme", "revoked", runapi.Admin)
		b.revoke(ann, "revoked")
		add("revoked", revoked.Token())
		add("expired", b.client("acme", "expired", runapi.Admin).Token())
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET expires = 1 WHERE name = 'expired'"))
		for _, role := range runapi.Roles {
			add(string(role), b.client("acme", string(role), role).Token())
		}
		add("admin-of-b", b.client("acme", "admin of b", runapi.Admin, "b").Token())
		worker := b.client("acme", "worker", runapi.Work)
		add("worker", worker.Token())
		add("worker-of-all", b.client("*", "fleet", runapi.Work).Token())
		took := func(by *runapi.Client, operation, stack string) *runapi.Claim {
			n.Operation, n.Stack = operation, stack
			b.asked(by, n)
			return b.next(worker, "w", nil)
		}
		over := took(ann, "refresh", "over")
		require.NoError(t, b.end(over, runapi.End{Outcome: runapi.Failed}))
		add("ended-run", over.Token)
		add("preview-run", took(ann, "preview", "previewed").Token)
		add("withheld-run", took(b.client("acme", "pat", runapi.Preview), "preview", "up").Token)
		add("run", took(ann, "up", "dev").Token)
		add("another-team", b.client("evil", "eve", runapi.Admin).Token())

		if !o.RequireApproval { // which lets nobody write
			require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), state.StackName{Project: "a", Name: "dev"}, []byte("{}")))
		}
		none := runapi.NewRun{Project: "a", Stack: "other", Bundle: digest("none")}
		bodies := map[string]any{"POST /v1/work/next": runapi.Ask{Worker: "w"}, "POST /v1/work/end": runapi.End{Outcome: "none"}, "POST /v1/work/report": runapi.Report{},
			"PUT /v1/bundles/{digest}": "no such files"}
		row := func(what string, send func(token string) (int, string)) {
			fmt.Fprintf(&table, "%s\n", what)
			for _, kind := range kinds {
				status, answer := send(tokens[kind])
				require.Less(t, status, http.StatusInternalServerError, "%s: %s: %s", what, kind, answer)
				fmt.Fprintf(&table, "  %s %d", kind, status)
			}
			table.WriteString("\n")
		}
		fmt.Fprintf(&table, "# with approval by others: %v\n", o.RequireApproval)
		for _, operation := range operations(t) {
			method, path, _ := strings.Cut(operation, " ")
			path = strings.NewReplacer("{id}", over.ID, "{name}", "none", "{digest}", digest("none")).Replace(path)
			send := func(body any) func(string) (int, string) {
				return func(token string) (int, string) { return b.raw("Bearer "+token, method, path, body) }
			}
			if operation != "POST /v1/runs" {
				row(operation, send(bodies[operation]))
				continue
			}
			for _, none.Operation = range []string{"preview", "up"} {
				row(operation+" "+none.Operation, send(none))
			}
		}
		of := newStateCalls(state.StackName{Project: "a", Name: "dev"}, state.StackName{Project: "a", Name: "other"})
		of.theirs = append(of.theirs, stateCall{"keys/decrypt", fields{"content": []byte("none")}})
		for _, call := range remote.Operations() {
			i := slices.IndexFunc(of.theirs, func(c stateCall) bool { return c.name == call })
			require.NotEqual(t, -1, i, "the call %s has no fields in newStateCalls", call)
			row(remote.Path+call, func(token string) (int, string) {
				body := of.theirs[i].with(fields{})
				for _, name := range []string{"call", "lease", "otherLease"} {
					if body[name] != nil {
						body[name] = rand.Text() // which nobody has sent
					}
				}
				return b.raw("Bearer "+token, http.MethodPost, remote.Path+call, body)
			})
		}
	}
	const file = "testdata/access.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), table.String())
}

// What one project has on a server does not reach the tokens of others, by no operation, with no identifier: neither those of
// other teams, nor those of the same team that are for another project.
func TestNoOperationTellsOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		// Whatever the project a has, has this in it.
		const canary = "canary"
		name := state.StackName{Project: "a", Name: "canary-stack"}
		ann := b.client("acme", "canary-ann", runapi.Admin)
		files := "canary files"
		n := runapi.NewRun{Project: name.Project, Stack: name.Name, Bundle: digest(files), Message: "canary message", Options: []string{"--target=canary-urn"}, Labels: map[string]string{"canary-label": "canary"}}
		require.NoError(t, ann.SendBundle(t.Context(), digest(files), []byte(files)))
		worker := b.client("acme", "w of a", runapi.Work, "a")
		ended, running, waiting, queued := n, n, n, n
		running.Stack, waiting.Stack, queued.Stack = "canary-running", "canary-waiting", "canary-queued"
		waiting.Approval = true
		runs := map[string]*runapi.Run{"ended": b.asked(ann, ended)}
		claim := b.next(worker, "canary-worker", n.Labels)
		lines := []runapi.Line{{Number: 1, Stream: runapi.Out, Time: time.Now(), Text: "canary line"}}
		_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
		require.NoError(t, err)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed, Reason: "canary reason"}))
		runs["waiting"] = b.asked(ann, waiting)
		require.NoError(t, b.end(b.next(worker, "canary-worker", n.Labels), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("canary plan")}))
		runs["running"] = b.asked(ann, running)
		held := b.next(worker, "canary-worker", n.Labels)
		runs["queued"] = b.asked(ann, queued)
		schedule := runapi.Schedule{Cron: "0 4 * * *", Run: n}
		schedule.Run.Operation = "up"
		_, err = ann.Call(t.Context(), http.MethodPut, "/v1/schedules/canary-schedule", schedule, nil)
		require.NoError(t, err)
		mine := b.stacks(ann.Token())
		require.NoError(t, mine.State.Create(t.Context(), name, []byte(`{"canary":"state"}`)))

		own := runapi.NewRun{Project: "b", Stack: "dev", Operation: "up"}
		others := map[string]*runapi.Client{"another team": b.client("evil", "eve", runapi.Admin), "a worker of another team": b.client("evil", "their worker", runapi.Work)}
		for _, role := range append([]runapi.Role{runapi.Work}, runapi.Roles...) {
			others["another project, "+string(role)] = b.client("acme", "b "+string(role), role, "b")
		}
		b.asked(others["another project, request"], own)
		others["a run of another project"] = b.of(b.next(others["another project, work"], "w", nil))
		b.asked(others["another team"], own)
		others["a run of another team"] = b.of(b.next(others["a worker of another team"], "w", nil))
		own.Bundle = digest("files")
		bodies := map[string][]any{
			"POST /v1/runs":             {},
			"PUT /v1/schedules/{name}":  {schedule},
			"POST /v1/tokens":           {runapi.Token{Name: "canary-ann", Role: runapi.Admin}},
			"PUT /v1/bundles/{digest}":  {nil},
			"POST /v1/work/next":        {runapi.Ask{Worker: "w", Slots: 1}, runapi.Ask{Worker: "thief", Slots: 1, Labels: n.Labels}},
			"POST /v1/work/report":      {},
			"POST /v1/work/beat":        {runapi.Beat{Lines: lines}},
			"POST /v1/work/end":         {runapi.End{Outcome: runapi.Failed}},
			"POST /v1/runs/{id}/cancel": {nil},
		}
		for _, run := range runs {
			again, theirs, report := n, own, runapi.Report{Run: *run, Of: run.ID}
			again.ID, theirs.ID, report.State, report.Project = run.ID, run.ID, runapi.Failed, "b"
			again.Operation, report.Operation = "up", "up"
			bodies["POST /v1/runs"] = append(bodies["POST /v1/runs"], again, theirs)
			bodies["POST /v1/work/report"] = append(bodies["POST /v1/work/report"], report)
		}
		ids := func(path string) (all []string) {
			switch {
			case strings.Contains(path, "{id}"):
				for _, run := range runs {
					all = append(all, strings.Replace(path, "{id}", run.ID, 1))
				}
			case strings.HasPrefix(path, "/v1/schedules/"):
				all = []string{"/v1/schedules/canary-schedule"}
			case strings.HasPrefix(path, "/v1/tokens/"):
				all = []string{"/v1/tokens/canary-ann"}
			case strings.HasPrefix(path, "/v1/bundles/"):
				all = []string{"/v1/bundles/" + digest(files)}
			case path == "/v1/runs":
				all = []string{path, path + "?project=a", path + "?project=a&stack=canary-stack&open"}
			default:
				all = []string{path}
			}
			return all
		}
		before := b.snapshot(ann, runs)
		for who, other := range others {
			for _, operation := range operations(t) {
				method, path, _ := strings.Cut(operation, " ")
				sent := bodies[operation]
				if sent == nil {
					sent = []any{nil}
				}
				if operation == "POST /v1/work/end" && other == others["a run of another project"] {
					continue // it would end
				}
				for _, at := range ids(path) {
					for _, body := range sent {
						if who == "another team" && operation == "PUT /v1/schedules/{name}" {
							continue // it has names of its own
						}
						text, err := json.Marshal(body)
						require.NoError(t, err)
						if body == nil {
							text = nil
						}
						req, err := http.NewRequestWithContext(t.Context(), method, b.url+at, bytes.NewReader(text))
						require.NoError(t, err)
						req.Header.Set("Authorization", "Bearer "+other.Token())
						resp, err := http.DefaultClient.Do(req)
						require.NoError(t, err)
						answer, err := io.ReadAll(resp.Body)
						require.NoError(t, err)
						require.NoError(t, resp.Body.Close())
						what := who + ": " + method + " " + at + " " + string(text)
						// Names that who asks has sent may be in the answer.
						told := string(answer)
						for _, known := range []string{"canary-ann", "canary-schedule", digest(files)} {
							if strings.Contains(at+string(text), known) || operation == "GET /v1/audit" {
								told = strings.ReplaceAll(told, known, "")
							}
						}
						told = regexp.MustCompile(`\{"name":"thief"[^}]*\}`).ReplaceAllString(told, "") // its own worker
						if strings.HasPrefix(who, "another project") && operation == "GET /v1/status" {
							told = strings.ReplaceAll(strings.ReplaceAll(told, "canary-worker", ""), `{"canary-label":"canary"}`, "") // the team's
						}
						require.NotContains(t, told, canary, what)
						if strings.Contains(path, "{id}") || strings.Contains(path, "{name}") && operation != "PUT /v1/schedules/{name}" {
							require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, resp.StatusCode, what)
							require.NotContains(t, told, "project a", what)
						}
					}
				}
			}
		}
		require.Equal(t, before, b.snapshot(ann, runs), "nobody has changed anything")
		require.NoError(t, b.end(held, runapi.End{Outcome: runapi.Succeeded}), "its worker has it still")
	})
}

// snapshot returns all that the server shows of a project.
func (b *bench) snapshot(c *runapi.Client, runs map[string]*runapi.Run) (all []string) {
	b.t.Helper()
	get := func(path string) {
		answer, err := c.Send(b.t.Context(), 0, http.MethodGet, path, "", nil)
		require.NoError(b.t, err)
		all = append(all, regexp.MustCompile(`,"used":"[^"]*"`).ReplaceAllString(string(answer), ""))
	}
	for _, run := range runs {
		get("/v1/runs/" + run.ID)
	}
	slices.Sort(all)
	get("/v1/runs?project=a")
	get("/v1/schedules/canary-schedule")
	get("/v1/tokens")
	return all
}

// The states of a project are not for the tokens of others of its team either, nor for the runs of these.
func TestNoStateTellsOthers(t *testing.T) {
	b := open(t, server.Options{})
	name, theirs := state.StackName{Project: "a", Name: "dev"}, state.StackName{Project: "b", Name: "dev"}
	mine := b.stacks(b.client("acme", "ann", runapi.Admin).Token())
	require.NoError(t, mine.State.Create(t.Context(), name, []byte(`{"canary":"state"}`)))
	_, err := mine.KV.Save(t.Context(), name, "random", []byte("canary"), "")
	require.NoError(t, err)
	require.NoError(t, mine.History.Put(t.Context(), name, "canary-run", []byte("canary")))
	require.NoError(t, mine.State.SetHistory(t.Context(), name, [][]byte{[]byte("canary")}))

	bob := b.client("acme", "bob", runapi.Admin, "b")
	require.NoError(t, b.stacks(bob.Token()).State.Create(t.Context(), theirs, []byte("{}")))
	b.asked(bob, runapi.NewRun{Project: theirs.Project, Stack: theirs.Name})
	claim := b.next(b.client("*", "fleet", runapi.Work), "w", nil)
	for who, token := range map[string]string{"a token": bob.Token(), "a run": claim.Token} {
		stacks := b.stacks(token)
		all, err := stacks.State.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, []state.StackName{theirs}, all, who)
		archive := stacks.State
		own, err := stacks.State.Lease(t.Context(), theirs, state.Holder{Command: "up"})
		require.NoError(t, err)
		for what, do := range map[string]func() error{
			"load":   func() error { _, err := stacks.State.Load(t.Context(), name); return err },
			"lease":  func() error { _, err := stacks.State.Lease(t.Context(), name, state.Holder{}); return err },
			"break":  func() error { return stacks.State.Break(t.Context(), name) },
			"create": func() error { return stacks.State.Create(t.Context(), name, []byte("{}")) },
			"create more": func() error {
				return stacks.State.Create(t.Context(), state.StackName{Project: "a", Name: "more"}, []byte("{}"))
			},
			"rename": func() error {
				return own.Rename(t.Context(), state.StackName{Project: "a", Name: "more"}, []byte("{}"))
			},
			"backups":     func() error { _, err := archive.Backups(t.Context(), name); return err },
			"backup":      func() error { _, err := archive.Backup(t.Context(), name, "1"); return err },
			"history":     func() error { _, err := archive.History(t.Context(), name); return err },
			"set history": func() error { return archive.SetHistory(t.Context(), name, nil) },
			"list values": func() error { _, err := stacks.KV.List(t.Context(), name); return err },
			"load values": func() error { _, _, err := stacks.KV.Load(t.Context(), name, "random"); return err },
			"save values": func() error { _, err := stacks.KV.Save(t.Context(), name, "random", nil, ""); return err },
			"list runs":   func() error { _, err := stacks.History.List(t.Context(), name); return err },
			"get runs":    func() error { _, err := stacks.History.Get(t.Context(), name, "canary-run"); return err },
			"put runs":    func() error { return stacks.History.Put(t.Context(), name, "canary-run", nil) },
		} {
			err := do()
			require.ErrorContains(t, err, "the token does not allow to ", "%s: %s", who, what)
			require.NotContains(t, err.Error(), "canary", "%s: %s", who, what)
		}
		require.NoError(t, own.Release(t.Context()))
	}
	content, err := mine.State.Load(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, `{"canary":"state"}`, string(content.Checkpoint))
}

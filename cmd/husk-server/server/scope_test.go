package server_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/strictcbor"
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
func quiet(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}

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

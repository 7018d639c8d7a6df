package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

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

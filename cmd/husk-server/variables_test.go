package main_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// Whoever asks for a run gives variables to its providers, which are granted them. Nobody else finds these: neither another run, nor what
// tells of the run, nor husk itself at the worker.
func TestVariablesOfARun(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	s.login("acme", "eve", "preview")
	token := s.token("acme", "w", "work")
	s.worker(token, "w", confinements()[0])
	dir := s.project(map[string]string{"Husk.yaml": `name: shop
runtime: yaml
plugins: {providers: [{name: spy, path: spy.wasm, grants: {env: [REGION, KEY]}}]}
resources:
  look: {type: spy:Look, properties: {paths: [], urls: [], texts: []}}
outputs: {found: "${look.found}"}
`})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spy.wasm"), testmodule.Build(t, "testdata/spy"), 0o600))
	up := func(args ...string) string {
		t.Helper()
		return s.done("ann", append([]string{"up", "-C", dir, "--remote", "--yes"}, args...)...)
	}
	found := func() string { return s.done("ann", "stack", "output", "found", "-C", dir, "--show-secrets") }

	t.Setenv("KEY", "a-key-of-ann")
	out := up("--env", "REGION=here", "--env", "KEY", "--env", "UNUSED=canary-unused", "--env", "PATH=/nowhere", "--env", "LD_PRELOAD=/nowhere")
	require.NotRegexp(t, "canary|a-key-of-ann", out)
	require.Contains(t, found(), `"REGION=here"`)
	require.Contains(t, found(), `"KEY=a-key-of-ann"`)
	require.NotContains(t, found(), "canary-unused")
	client, err := runapi.NewClient(s.url, s.token("acme", "reader", "read"))
	require.NoError(t, err)
	text, err := client.Send(t.Context(), 0, http.MethodGet, "/v1/runs", "", nil)
	require.NoError(t, err)
	require.NotContains(t, string(text), "canary")
	require.Empty(t, canaries(t, filepath.Join(s.dir, "server")), "the server has them sealed")

	up("--replace", "**", "--env", "REGION=there", "--env", "KEY=other")
	require.Contains(t, found(), `"REGION=there"`)
	out, err = s.husk("ann", "up", "-C", dir, "--remote", "--yes")
	require.Error(t, err, "the next run has none")
	require.Contains(t, out, "it may have no variables of this process; husk up --remote --env REGION gives it one for a run")

	for variable, wrong := range map[string]string{
		"HUSK_KEY_COMMAND=x": "is for husk alone", "ABSENT_HERE": "there is no such variable", "=x": "--env",
	} {
		out, err := s.husk("ann", "up", "-C", dir, "--remote", "--yes", "--env", variable)
		require.Error(t, err, variable)
		require.Contains(t, out, wrong)
	}
	out, err = s.husk("ann", "up", "-C", dir, "--yes", "--env", "REGION=x")
	require.Error(t, err)
	require.Contains(t, out, "--env requires --remote")
	out, err = s.husk("eve", "preview", "-C", dir, "--remote", "--env", "REGION=x")
	require.Error(t, err)
	require.Contains(t, out, "the token does not allow to ask for a run that changes something")

	// Who may only preview sends the variables of another run along.
	var runs []runapi.Run
	_, err = client.Call(t.Context(), http.MethodGet, "/v1/runs", nil, &runs)
	require.NoError(t, err)
	stolen := runs[slices.IndexFunc(runs, func(r runapi.Run) bool { return len(r.Variables) > 0 })].NewRun
	require.Regexp(t, "(?m)^variables +given by ann, encrypted$", s.done("ann", "remote", "show", stolen.ID), "whoever approves it knows of them")
	stolen.ID, stolen.Operation, stolen.Options = rand.Text(), "preview", nil
	eve, err := runapi.NewClient(s.url, s.token("acme", "eve2", "preview"))
	require.NoError(t, err)
	_, err = eve.Call(t.Context(), http.MethodPost, "/v1/runs", stolen, nil)
	require.NoError(t, err)
	var log strings.Builder
	require.NoError(t, eve.Follow(t.Context(), stolen.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
		if l != nil {
			fmt.Fprintln(&log, l.Text)
			return true, nil
		}
		return !r.State.IsFinal(), nil
	}))
	require.Contains(t, log.String(), "whoever asked for it may not have secrets decrypted")
}

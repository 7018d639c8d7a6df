package main_test

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/strangertest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/worker/confine"
)

// askedRun is a run of a stranger's project.
type askedRun struct {
	what string
	runapi.NewRun
	// fails says that it must.
	fails bool
}

// A worker gives a stranger nothing by what its project names, whatever key names it, in whatever way, and whatever operation
// the run is: the table is that of all texts in the schema of project files.
func TestTheTableOfStrangersAtAWorker(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	eve := s.login("evil", "eve", "admin")
	inside := newListener(t)
	place := strangertest.New(t, inside.address)
	fleet := s.token("*", "fleet", "work")
	t.Setenv("WORKER_SECRET", "canary-of-the-worker")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-of-aws")
	t.Setenv("AWS_ACCESS_KEY_ID", "canary-of-aws")
	t.Setenv("PGPASSWORD", "canary-of-postgres")
	modes := []string{"--no-confinement"}
	if confine.Check() == nil {
		modes = append(modes, "--require-confinement")
	}
	for _, mode := range modes {
		s.worker(fleet, mode[2:], mode, "--slots", "2", "--label", "mode="+mode[2:])
	}
	spy := string(testmodule.Build(t, "testdata/spy"))
	client, err := runapi.NewClient(s.url, eve)
	require.NoError(t, err)
	mine := s.project(map[string]string{"Husk.yaml": "name: stranger\nresources: {}\n"})
	stacks := []string{"s0", "s1", "s2", "s3"} // a stack has one run at a time
	for _, stack := range stacks {
		s.done("eve", "stack", "init", stack, "-C", mine)
	}

	// Those that run a program, and all.
	programs, operations := []string{"preview", "up"}, []string{"preview", "up", "refresh", "destroy"}
	var runs []askedRun
	ask := func(what string, files [][2]string, operation, mode string, fails func(runs bool) bool) {
		content, digest := bundleOf(t, files)
		require.NoError(t, client.SendBundle(t.Context(), digest, content), what)
		r := askedRun{what + ": " + operation + " " + mode, runapi.NewRun{ID: rand.Text(), Project: "stranger", Stack: stacks[len(runs)%len(stacks)],
			Operation: operation, Bundle: digest, Labels: map[string]string{"mode": mode[2:]}}, fails(slices.Contains(programs, operation))}
		_, err := client.Call(t.Context(), http.MethodPost, "/v1/runs", r.NewRun, nil)
		require.NoError(t, err, r.what)
		runs = append(runs, r)
	}
	// Each is a process. All of them wait for .ci/nightly: else each row is tried in some ways, and each way with some rows.
	n, some := 0, 3
	if nightly.Enabled() {
		some = 1
	}
	try := func(what string, files [][2]string, operations []string, fails func(runs bool) bool) {
		n++
		mode := modes[(n+n/2)%len(modes)] // another one for the same way of the next row
		ask(what, files, operations[n/4%len(operations)], mode, fails)
		if nightly.Enabled() {
			ask(what, files, "up", modes[(n+n/2+1)%len(modes)], fails)
		}
	}
	for i, row := range strangertest.Rows {
		if row.Kind == strangertest.Text {
			continue
		}
		for j, way := range place.Ways(row.Kind) {
			if row.Kind != strangertest.Address && (i+j)%some != 0 {
				continue
			}
			files, of := place.Files(row, way), programs
			if strings.Contains(row.Project, "spy.wasm") {
				files = append(files, [2]string{"spy.wasm", spy})
			}
			if row.Loads {
				of = operations
			}
			try(row.Key+" names "+way.Name, files, of, func(runs bool) bool {
				return way.Outside && row.Kind == strangertest.Path && (row.Loads || runs)
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(strangertest.Links)) {
		try("a link in place of "+name, place.LinkedFiles(name, strangertest.Links[name]), operations, func(bool) bool { return true })
	}

	var told strings.Builder
	for _, r := range runs {
		var log strings.Builder
		var last runapi.Run
		require.NoError(t, client.Follow(t.Context(), r.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
			if l != nil {
				fmt.Fprintln(&log, l.Text)
				return true, nil
			}
			last = *r
			return !r.State.IsFinal(), nil
		}))
		said := log.String() + last.Reason
		require.NotContains(t, said, "canary", r.what)
		require.NotContains(t, said, "panic", r.what)
		if r.fails {
			require.Equal(t, runapi.Failed, last.State, "%s: %s", r.what, said)
			require.Regexp(t, "not trusted|outside of the directory of the project|is neither a file nor a link in it|leads outside of it", said, r.what)
		}
	}
	for _, path := range []string{"/v1/runs?limit=1000", "/v1/status", "/v1/schedules", "/v1/whoami"} {
		text, err := client.Send(t.Context(), 0, http.MethodGet, path, "", nil)
		require.NoError(t, err, path)
		told.Write(text)
	}
	for _, stack := range stacks {
		told.WriteString(s.done("eve", "stack", "export", "--show-secrets", "--stack", stack, "-C", mine))
	}
	require.NotContains(t, told.String(), "canary")
	require.Empty(t, inside.requests(), "nobody inside was asked")
	kept := []string{"server"}
	for _, mode := range modes {
		kept = append(kept, "worker-"+mode[2:])
	}
	for _, dir := range kept {
		require.NoError(t, filepath.WalkDir(filepath.Join(s.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // a run has just ended
			}
			text, err := os.ReadFile(path)
			require.NotContains(t, string(text), "canary", "%s %v", path, err)
			return nil
		}))
	}
	place.RequireUntouched()
}

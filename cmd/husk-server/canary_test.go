package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// canaries returns the files below a directory that have a canary in them.
func canaries(t *testing.T, dir string) (found []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // a run has ended meanwhile
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("canary")) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}

// bundleOf makes a bundle of files, and of links, whose texts begin with "-> ".
func bundleOf(t *testing.T, files [][2]string) (content []byte, digest string) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		header := &tar.Header{Name: file[0], Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(file[1]))}
		target, isLink := strings.CutPrefix(file[1], "-> ")
		if isLink {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, target, 0
		}
		require.NoError(t, archive.WriteHeader(header))
		if !isLink {
			_, err := archive.Write([]byte(file[1]))
			require.NoError(t, err)
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	sum := sha256.Sum256(out.Bytes())
	return out.Bytes(), "sha256:" + hex.EncodeToString(sum[:])
}

// Two teams share a worker. Whatever the one has in configuration, secrets, stored values, modules, logs, errors, files, and
// variables, a malicious project of the other does not find it, neither while a run of the first is under way nor after it.
func TestASharedWorkerTellsNobody(t *testing.T) {
	s := begin(t)
	spy := testmodule.Build(t, "testdata/spy")
	ofProject := func(tenant, name, project string) string {
		out, err := s.command("", "server", "--dir", filepath.Join(s.dir, "server"), "token", tenant, name, "admin", "--project", project).Output()
		require.NoError(t, err)
		token := strings.TrimSpace(string(out))
		s.done(name, "login", strings.Replace(s.url, "://", "://:"+token+"@", 1))
		return token
	}
	ofProject("acme", "ann", "a")
	eve := ofProject("evil", "eve", "b")
	t.Setenv("WORKER_SECRET", "canary-of-the-worker")
	worker := filepath.Join(s.dir, "worker-w")
	cache := filepath.Join(worker, "cache")
	shared := s.command("worker-w", "worker", "--server", s.url, "--name", "w", "--dir", worker, "--slots", "2")
	shared.Env = append(shared.Env, "HUSK_ACCESS_TOKEN="+s.token("*", "fleet", "work"), "HUSK_CACHE_DIR="+cache)
	s.start(shared)

	// A module of its own, with a custom section that the host ignores. The section is in the compiled module, which no module can read.
	const section = "\x03own" + "birdsong"
	module := append(append(bytes.Clone(spy), 0, byte(len(section))), section...)
	victim := s.project(map[string]string{"Husk.yaml": `name: a
runtime: yaml # canary-program
plugins: {providers: [{name: spy, path: spy.wasm, grants: {fs: ["work:rw"], kv: true}}]}
config:
  password: {type: string, secret: true}
  plain: {type: string}
  fail: {type: boolean, default: false}
resources:
  kept: {type: spy:Keep, properties: {secret: "${password}", text: "canary-text and ${plain}", dir: work, fail: "${fail}"}}
outputs: {secret: "${kept.secret}", text: "${kept.text}"}
`, "work/note": "canary-file"})
	require.NoError(t, os.WriteFile(filepath.Join(victim, "spy.wasm"), module, 0o600))
	s.done("ann", "stack", "init", "dev", "-C", victim)
	s.done("ann", "config", "set", "password", "canary-secret", "--secret", "-C", victim)
	s.done("ann", "config", "set", "plain", "canary-plain", "-C", victim)
	up := s.command("ann", "up", "-C", victim, "--remote", "--yes", "--message", "canary-message")
	said := s.start(up)
	var run string // the directory of the run
	require.Eventually(t, func() bool {
		kept, _ := filepath.Glob(filepath.Join(worker, "runs", "*", "files", "work", "kept"))
		if len(kept) == 1 {
			run = filepath.Dir(filepath.Dir(filepath.Dir(kept[0])))
		}
		return run != ""
	}, 2*time.Minute, 20*time.Millisecond, said)
	t.Cleanup(func() { _ = os.WriteFile(filepath.Join(run, "files", "work", "until"), nil, 0o600) }) // also if the test fails
	require.GreaterOrEqual(t, len(canaries(t, run)), 4, "there is something to be found")

	// What the other team sees of its own, and all that it is told.
	client, err := runapi.NewClient(s.url, eve)
	require.NoError(t, err)
	told := func() string {
		var all strings.Builder
		var runs []runapi.Run
		_, err := client.Call(t.Context(), http.MethodGet, "/v1/runs?limit=1000", nil, &runs)
		require.NoError(t, err)
		for _, path := range []string{"/v1/runs", "/v1/status", "/v1/schedules"} {
			text, err := client.Send(t.Context(), 0, http.MethodGet, path, "", nil)
			require.NoError(t, err)
			all.Write(text)
		}
		for _, run := range runs {
			require.Equal(t, "b", run.Project)
			text, err := client.Send(t.Context(), 0, http.MethodGet, "/v1/runs/"+run.ID+"/log", "", nil)
			require.NoError(t, err)
			all.Write(text)
		}
		all.WriteString(s.done("eve", "stack", "ls"))
		return all.String()
	}
	look := func() {
		t.Helper()
		var places strings.Builder
		for _, place := range []string{".", "..", "/", "../../..", "work", run, filepath.Join(run, "files", "work"), filepath.Join(run, "home"), worker, s.dir, cache, os.TempDir(),
			"/proc/self/environ", "/proc/self/cwd", "/proc", "/etc", "/dev/fd"} {
			fmt.Fprintf(&places, "%q, ", place)
		}
		dir := s.project(map[string]string{"Husk.yaml": fmt.Sprintf(`name: b
runtime: yaml
plugins: {providers: [{name: spy, path: spy.wasm, grants: {fs: [".", "work:rw"], kv: true}}]}
resources:
  look: {type: spy:Look, properties: {paths: [%s], urls: [%q, %q], texts: []}}
outputs: {found: "${look.found}"}
`, places.String(), s.url+"/v1/runs", "http://169.254.169.254/latest"), "work/own": "of eve"})
		require.NoError(t, os.WriteFile(filepath.Join(dir, "spy.wasm"), spy, 0o600))
		if _, err := s.husk("eve", "stack", "init", "dev", "-C", dir); err == nil {
			require.NotContains(t, s.done("eve", "stack", "ls"), "canary")
		}
		out := s.done("eve", "up", "-C", dir, "--remote", "--yes")
		found := s.done("eve", "stack", "output", "found", "-C", dir)
		require.Contains(t, found, `work/own: "of eve"`, "it looks")
		require.Contains(t, found, `environment: ["PWD=/project"]`)
		require.Contains(t, found, "keys: []")
		all := out + found + s.done("eve", "stack", "export", "-C", dir, "--show-secrets")
		require.NotRegexp(t, "canary|birdsong", all)
		s.done("eve", "destroy", "-C", dir, "--remote", "--yes")
	}
	look()

	// Programs and files that name what belongs to others. Each run fails, and its log has nothing of that.
	files := filepath.Join(run, "files")
	for what, c := range map[string]struct {
		files [][2]string
		wrong string
	}{
		"a file by its path":      {[][2]string{{"Husk.yaml", fmt.Sprintf("variables: {x: {fn::readFile: %q}}\noutputs: {x: \"${x}\"}\n", files+"/work/kept")}}, "outside of the directory of the project"},
		"a file above":            {[][2]string{{"Husk.yaml", fmt.Sprintf("variables: {x: {fn::readFile: %q}}\noutputs: {x: \"${x}\"}\n", "../../"+filepath.Base(run)+"/files/work/kept")}}, "outside of the directory of the project"},
		"another stack":           {[][2]string{{"Husk.yaml", "resources: {x: {type: pulumi:pulumi:StackReference, properties: {name: acme/a/dev}}}\noutputs: {x: \"${x.outputs}\"}\n"}}, ""},
		"a link as configuration": {[][2]string{{"Husk.yaml", "resources: {}\n"}, {"d/e/top", "-> ../.."}, {"Husk.dev.yaml", "-> d/e/top/../../" + filepath.Base(run) + "/files/Husk.dev.yaml"}}, "leads outside of it"},
		"a link as the project":   {[][2]string{{"Husk.yaml", "resources: {}\n"}, {"d/e/top", "-> ../.."}, {"p", "-> d/e/top/../../" + filepath.Base(run) + "/files"}}, "leads outside of it"},
		"a link to a file":        {[][2]string{{"Husk.yaml", "resources: {}\n"}, {"d/e/top", "-> ../.."}, {"x", "-> d/e/top/../../" + filepath.Base(run) + "/files/work/kept"}}, "leads outside of it"},
	} {
		for i, file := range c.files {
			if file[0] == "Husk.yaml" {
				c.files[i][1] = "name: b\nruntime: yaml\n" + file[1]
			}
		}
		content, digest := bundleOf(t, c.files)
		require.NoError(t, client.SendBundle(t.Context(), digest, content))
		n := runapi.NewRun{ID: rand.Text(), Project: "b", Stack: "dev", Operation: "up", Bundle: digest}
		_, err := client.Call(t.Context(), http.MethodPost, "/v1/runs", n, nil)
		require.NoError(t, err)
		var last runapi.Run
		var log strings.Builder
		require.NoError(t, client.Follow(t.Context(), n.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
			if l != nil {
				fmt.Fprintln(&log, l.Text)
				return true, nil
			}
			last = *r
			return !r.State.IsFinal(), nil
		}))
		require.Equal(t, runapi.Failed, last.State, "%s: %s", what, &log)
		require.Contains(t, log.String(), c.wrong, what)
		require.NotContains(t, log.String()+last.Reason, "canary", what)
	}

	// The run of the first ends, and another of it fails.
	require.NoError(t, os.WriteFile(filepath.Join(files, "work", "until"), nil, 0o600))
	require.NoError(t, up.Wait(), "%s", said)
	require.Contains(t, said.String(), "canary-text and canary-plain")
	s.done("ann", "config", "set", "fail", "true", "-C", victim)
	s.done("ann", "config", "set", "plain", "canary-error", "-C", victim)
	out, err := s.husk("ann", "up", "-C", victim, "--remote", "--yes", "--replace", "**")
	require.Error(t, err)
	require.Regexp(t, regexp.MustCompile(`canary-error`), out)
	look()
	require.Empty(t, canaries(t, filepath.Join(worker, "runs")))
	entries, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.NotEmpty(t, entries, "both have used it")
	require.Empty(t, canaries(t, cache))
	require.NotRegexp(t, "canary|birdsong", told())
}

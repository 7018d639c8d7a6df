package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// A RemoteWorkspace of Pulumi's Automation API deploys a project of a repository. Its commands run in an empty directory for temporary files,
// and PWD is the directory of the process that drives it. Husk.yaml is there, with the providers.
func TestRemoteWorkspace(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	s := begin(t)
	s.login("acme", "ann", "admin")
	s.worker(s.token("acme", "w", "work"), "w", confinements()[0])
	write := func(dir, file, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	repository, beside, kept := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "bashrc")
	write(filepath.Dir(kept), "bashrc", "alias ll=ls")
	write(repository, "site/Pulumi.yaml", `name: site
runtime: yaml
resources:
  look: {type: spy:Look, properties: {paths: [], urls: [], texts: []}}
outputs: {found: "${look.found}"}
`)
	write(repository, "README.md", "no project")
	require.NoError(t, os.Symlink(kept, filepath.Join(repository, "site", "husk.lock")))
	require.NoError(t, os.Symlink(filepath.Dir(kept), filepath.Join(repository, "elsewhere")))
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	git("add", ".")
	git("commit", "--quiet", "-m", "begin")
	write(beside, "Husk.yaml", "name: driver\nruntime: nodejs\nplugins: {providers: [{name: spy, path: modules/spy.wasm, grants: {env: [REGION, KEY]}}]}\n")
	write(beside, "husk.lock", "version: 1\n")
	write(beside, "modules/spy.wasm", string(testmodule.Build(t, "testdata/spy")))

	temporary := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := s.command("ann", "pulumi", args)
		cmd.Dir = t.TempDir()
		cmd.Env = append(cmd.Env, "PWD="+beside, "TMPDIR="+temporary)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	done := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		require.NoError(t, err, out)
		return out
	}
	fails := func(says string, args ...string) {
		t.Helper()
		out, err := run(args...)
		require.Error(t, err, out)
		require.Contains(t, out, says)
	}
	const stack = "organization/site/dev"
	remote := func(operation string, more ...string) []string {
		return append([]string{
			operation, "--yes", "--skip-preview", "--remote", repository, "--remote-git-repo-dir", "site", "--remote-git-branch", "refs/heads/main",
			"--exec-kind", "auto.local", "--stack", stack, "--non-interactive", "--verbose", "3", "--suppress-progress", "-m", "because", "--remote-env", "REGION=here", "--remote-env-secret", "KEY=canary-key",
		}, more...)
	}
	require.Contains(t, done("preview", "--help"), "--remote")
	fails("no stack named 'dev' found", "stack", "--stack", stack, "--non-interactive")
	done("stack", "init", stack, "--no-select", "--non-interactive")
	fails("the stack already exists", "stack", "init", stack, "--no-select", "--non-interactive")
	done("stack", "--stack", stack, "--non-interactive")

	out := done(remote("up")...)
	require.NotContains(t, out, "canary")
	found := done("stack", "output", "--json", "--show-secrets", "--stack", stack)
	require.Contains(t, found, "REGION=here")
	require.Contains(t, found, "KEY=canary-key")
	history := done("stack", "history", "--json", "--page-size", "1", "--page", "1", "--stack", stack)
	require.Contains(t, history, `"kind": "update"`)
	require.Contains(t, history, `"result": "succeeded"`)
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "alias ll=ls", string(text), "no file of the user's is written through a link of the repository")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)

	preview := []string{"preview", "--remote", repository, "--remote-git-repo-dir", "site", "--stack", stack, "--remote-env", "REGION=x", "--remote-env", "KEY=x"}
	require.Contains(t, done(preview...), "nothing would change, 2 up to date")
	log := filepath.Join(t.TempDir(), "events.log")
	require.Contains(t, done(append(preview, "--event-log", log, "--replace", "**::look")...), "1 to replace")
	text, err = os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(text), `"resourceChanges":{"replace":1,"same":1}`)
	require.Contains(t, string(text), `"isPreview":true`)
	require.Contains(t, string(text), "cancelEvent")
	fails("has no project file in .: --remote-git-repo-dir", "preview", "--remote", repository, "--stack", stack)
	for _, dir := range []string{"nowhere", "README.md", "elsewhere", ".."} {
		fails("--remote-git-repo-dir "+dir+": is no directory of", "preview", "--remote", repository, "--remote-git-repo-dir", dir, "--stack", stack)
	}
	fails("fetching nothing from", append(preview, "--remote-git-branch", "nothing")...)
	fails("the stack organization/shop/dev belongs to another project: this is site", "preview", "--remote", repository, "--remote-git-repo-dir", "site", "--stack", "organization/shop/dev")
	fails("a URL goes with --remote", "preview", repository, "--stack", stack)
	fails("--label chooses one", append(preview, "--remote-executor-image=alpine")...)
	fails("runs no commands at a worker before the program", append(preview, "--remote-pre-run-command", "yum install x")...)

	git("update-server-info")
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name+":"+password != "git:canary-token" && name+":"+password != "ann:canary-password" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.FileServer(http.Dir(repository)).ServeHTTP(w, r)
	}))
	defer guarded.Close()
	private := append([]string{"preview", "--remote", guarded.URL + "/.git"}, preview[3:]...)
	done(append(private, "--remote-git-auth-access-token", "canary-token")...)
	done(append(private, "--remote-git-auth-username", "ann", "--remote-git-auth-password", "canary-password")...)
	fails("fetching HEAD from "+guarded.URL, append(private, "--remote-git-auth-access-token", "wrong")...)
	fails("fetching HEAD from "+guarded.URL, private...)
	key := []string{"--remote-git-auth-ssh-private-key", "canary-key"}
	fails("give an access token, a name with a password, or a private key", append(append(private, key...), "--remote-git-auth-access-token", "x")...)
	fails("husk does not unlock private keys", append(append(private, key...), "--remote-git-auth-password", "x")...)
	ssh := filepath.Join(t.TempDir(), "ssh")
	require.NoError(t, os.WriteFile(ssh, []byte(`#!/bin/sh
while [ "$1" != -i ]; do shift; done
grep -q "^canary-key$" "$2" || exit 1
for last in "$@"; do :; done
eval "exec $last"
`), 0o700))
	t.Setenv("PATH", filepath.Dir(ssh)+string(os.PathListSeparator)+os.Getenv("PATH"))
	overSSH := append([]string{"preview", "--remote", "ssh://git.example" + repository}, preview[3:]...)
	done(append(overSSH, key...)...)
	write(filepath.Dir(ssh), "a 'key'", "canary-key\n")
	done(append(overSSH, "--remote-git-auth-ssh-private-key-path", filepath.Join(filepath.Dir(ssh), "a 'key'"))...)
	fails("fetching HEAD from ssh://git.example", append(overSSH, "--remote-git-auth-ssh-private-key", "other")...)
	left, err = os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)

	fails("a stack has no settings of deployments", append(preview, "--remote-inherit-settings")...)
	fails("is for husk alone", append(preview, "--remote-env", "HUSK_KEY_COMMAND=x")...)

	write(repository, "site/Pulumi.yaml", "name: site\nruntime: yaml\nresources: {look: {type: spy:Look, properties: {paths: []}}}\n")
	git("commit", "--quiet", "--all", "-m", "break it")
	log = filepath.Join(t.TempDir(), "events.log")
	out, err = run(append(preview, "--event-log", log)...)
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(out, `Pulumi.yaml:3:36: property "urls" of "look": required property is missing`), out)
	text, err = os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(text), `property \"urls\" of \"look\": required property is missing`)

	require.Contains(t, done(remote("refresh")...), "nothing changed, 1 up to date")
	require.Contains(t, done(remote("destroy")...), "2 deleted")
	done("stack", "rm", "--yes", stack, "--non-interactive")
	fails("no stack named 'dev' found", "stack", "--stack", stack)
}

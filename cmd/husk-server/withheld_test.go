package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who may only preview has whatever he likes previewed: his own program, with the configuration and the state of a stack of others.
// It runs without their secrets, which it could send anywhere, unless who runs the server allows that.
func TestPreviewersGetNoSecrets(t *testing.T) {
	const canary, passphrase = "canary-4711-of-ann", "canary-passphrase-of-ann"
	s := begin(t)
	s.login("acme", "ann", "admin")
	s.login("acme", "eve", "preview")
	token := s.token("acme", "w", "work")
	ann := s.project(map[string]string{"Husk.yaml": things})
	s.done("ann", "stack", "init", "dev", "-C", ann)
	s.done("ann", "config", "set", "password", canary, "--secret", "-C", ann, "--stack", "dev")
	// A second stack has a passphrase, which the worker gives to runs.
	withPassphrase := func(args ...string) string {
		cmd := s.command("ann", args, "-C", ann, "--stack", "own")
		cmd.Env = append(cmd.Env, "HUSK_CONFIG_PASSPHRASE="+passphrase)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	withPassphrase("stack", "init", "own")
	withPassphrase("config", "set", "password", canary, "--secret")

	// What eve sends: the stack's configuration, which a repository has, with a program of hers; and a program that looks at the state.
	configured, plain := map[string]string{"Husk.yaml": things}, map[string]string{"Husk.yaml": "name: shop\nruntime: yaml\nplugins: {providers: [{name: lab, path: lab.wasm}]}\nresources:\n  a: {type: lab:Thing, properties: {key: k, name: y}}\n"}
	for _, name := range []string{"Husk.dev.yaml", "Husk.own.yaml"} {
		text, err := os.ReadFile(filepath.Join(ann, name))
		require.NoError(t, err)
		require.NotContains(t, string(text), canary)
		configured[name] = string(text)
	}
	eves, looks := s.project(configured), s.project(plain)
	for _, flag := range confinements() {
		worker := s.command("worker-w", "worker", "--server", s.url, "--name", "w", "--dir", filepath.Join(s.dir, "worker-w"), "--env", "HUSK_CONFIG_PASSPHRASE", flag)
		worker.Env = append(worker.Env, "HUSK_ACCESS_TOKEN="+token, "HUSK_CONFIG_PASSPHRASE="+passphrase)
		s.start(worker).wait(t, regexp.MustCompile("The worker w takes runs"))
		for _, stack := range []string{"dev", "own"} {
			s.done("ann", "up", "-C", ann, "--remote", "--yes", "--stack", stack)
			out, err := s.husk("eve", "preview", "-C", eves, "--remote", "--stack", stack)
			require.Error(t, err, out)
			require.Contains(t, out, "the secret is withheld: who asked for this run may only preview", "%s %s", flag, stack)
			require.NotContains(t, out, canary)
			// The state has the same secret, and is compared without it.
			out = s.done("eve", "preview", "-C", looks, "--remote", "--stack", stack)
			require.Contains(t, out, "1 to replace") // what was, nobody tells
			require.NotContains(t, out, canary)
			require.NotContains(t, out, passphrase)
			require.Contains(t, s.done("ann", "preview", "-C", ann, "--remote", "--stack", stack), "nothing would change", "%s %s", flag, stack)
		}
		require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
		require.NoError(t, worker.Wait())
	}

	at := s.cut()
	s.serve(at, "--preview-secrets")
	s.worker(token, "w", confinements()[0])
	require.Contains(t, s.done("eve", "preview", "-C", eves, "--remote", "--stack", "dev"), "nothing would change")
}

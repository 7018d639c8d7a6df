package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/worker/confine"
)

// confinements are the flags of workers whose runs are confined, if this machine can do that, and of those whose are not.
func confinements() []string {
	if confine.Check() != nil {
		return []string{"--no-confinement"}
	}
	return []string{"--require-confinement", "--no-confinement"}
}

// A run keeps to the policy of its worker's operator, wherever the policy's files are and whatever the project says.
func TestARunKeepsToTheOperatorsPolicy(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	token := s.token("acme", "w", "work")
	operator := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(operator, "policy.yaml"), []byte("rules:\n  - {source: \"path:**\", signers: [{key: own.key.pub}]}\n  - {source: \"**\", unsigned: true}\n"), 0o600))
	keygen := s.command("ann", "provider", "keygen", "own.key")
	keygen.Dir, keygen.Env = operator, append(keygen.Env, "HUSK_KEY_PASSPHRASE=canary-passphrase")
	out, err := keygen.CombinedOutput()
	require.NoError(t, err, "%s", out)
	lab := s.project(map[string]string{"Husk.yaml": "name: shop\nplugins: {providers: [{name: lab, path: lab.wasm}]}\nresources: {a: {type: lab:Thing, properties: {key: k, name: x}}}\n"})
	away := s.project(map[string]string{
		"Husk.yaml": "name: shop\nplugins: {providers: [{name: x, source: oci://registry.example/x, version: \"1\"}]}\nresources: {a: {type: x:Y}}\n",
		"husk.lock": "version: 1\nproviders:\n  - {name: x, source: oci://registry.example/x, version: 1.0.0, digest: sha256:" + strings.Repeat("0", 64) + ", size: 8, manifest: sha256:" + strings.Repeat("1", 64) + "}\n",
	})
	s.done("ann", "stack", "init", "dev", "-C", lab)
	for _, flag := range confinements() {
		cmd := s.command("worker-w", "worker", "--server", s.url, "--name", "w", "--dir", filepath.Join(s.dir, "worker-w"), flag)
		cmd.Dir = operator
		cmd.Env = append(cmd.Env, "HUSK_ACCESS_TOKEN="+token, "HUSK_TRUST_POLICY=policy.yaml", "HUSK_OFFLINE=1")
		s.start(cmd)
		for dir, want := range map[string]string{lab: "is not trusted: ", away: "HUSK_OFFLINE"} {
			out, err := s.husk("ann", "preview", "-C", dir, "--remote")
			require.Error(t, err, flag)
			require.Contains(t, out, want, flag)
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	}
}

// An edge worker has its states and their key on its disk, which its confined runs can use, and their files end with them.
func TestRunsAtTheEdgeAreConfined(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	dir := s.project(map[string]string{"Husk.yaml": "name: shop\nplugins: {providers: [{name: lab, path: lab.wasm}]}\nresources: {a: {type: lab:Thing, properties: {key: k, name: x}}}\n"})
	flag := confinements()[0]
	s.worker(s.token("acme", "pumps", "work"), "pump", "--edge", flag)
	to := []string{"-C", dir, "--remote", "--yes", "--label", "edge=pump", "--stack", "pump"}
	require.Contains(t, s.done("ann", append([]string{"up"}, to...)...), "2 created")
	require.Contains(t, s.done("ann", append([]string{"up"}, to...)...), "nothing changed")
	require.Contains(t, s.done("ann", append([]string{"destroy"}, to...)...), "deleted")
	left, err := filepath.Glob(filepath.Join(s.dir, "worker-pump", "runs", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A bundle has the modules beside the project as well, and all in it is the stranger's own.
func TestModulesBesideAProject(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	token := s.token("acme", "w", "work")
	top := s.project(map[string]string{"shop/Husk.yaml": "name: shop\nplugins: {providers: [{name: lab, path: ../lab.wasm}]}\nresources: {a: {type: lab:Thing, properties: {key: k, name: x}}}\n"})
	dir := filepath.Join(top, "shop")
	s.done("ann", "stack", "init", "dev", "-C", dir)
	for _, flag := range confinements() {
		worker, _ := s.worker(token, "w", flag)
		require.Contains(t, s.done("ann", "preview", "-C", dir, "--remote"), "2 to create", flag)
		require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
		require.NoError(t, worker.Wait())
	}
}

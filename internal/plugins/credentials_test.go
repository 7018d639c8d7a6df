package plugins

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/named/namedtest"
	"github.com/husk-dev/husk/internal/versionrange"
)

// Whatever of the environment and of the user's files holds credentials, a source that a project names gets none of it that
// is not for its host.
func TestSourcesGetNoCredentials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the user's files are elsewhere")
	}
	namedtest.Set(t)
	r := namedtest.Start(t)
	at := r.Addr().String()
	for name, source := range map[string]string{
		"registry": "oci://" + at + "/acme/greet", "file": "http://" + at + "/greet.wasm", "repository": "git+http://" + at + "/greet//provider@v1.0.0", "name": "greet",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("git"); err != nil && name == "repository" {
				t.Skip("git is not installed")
			}
			dir := t.TempDir()
			file := "name: demo\nruntime: yaml\nplugins:\n  registries: ['oci://" + at + "/acme']\n  providers: [{name: greet, source: '" + source + "'}]\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(file), 0o644))
			project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}})
			require.NoError(t, err)
			defer p.Close(t.Context())
			client, err := p.Registry(nil)
			require.NoError(t, err)
			declared := project.Provider("greet")
			from, err := p.Source(declared, nil)
			require.NoError(t, err)
			if name == "repository" {
				_, _, err = p.BuildCommit(t.Context(), client, from, "")
			} else {
				_, _, err = p.Resolve(t.Context(), client, from, versionrange.Range{})
			}
			require.Error(t, err)
			require.NotContains(t, err.Error(), namedtest.Canary)
			received, requests := r.Seen()
			require.NotZero(t, requests, err)
			require.NotContains(t, received, namedtest.Canary)
			require.NotContains(t, received, "Authorization")
		})
	}
}

// A stranger's grants lead to the Internet, however an address is written.
func TestUntrustedGrantsLeadToTheInternet(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0", "10.1.2.3", "fd00::1", "localhost", "2002:7f00:1::",
	} {
		require.ErrorContains(t, inTheInternet(host), "the project is not trusted: it may not reach", host)
	}
	for _, host := range []string{"93.184.216.34", "2606:2800:220:1::1", "example.com", "*.example.com"} {
		require.NoError(t, inTheInternet(host), host)
	}
}

// A rule of a trust policy that means less than it did, and decides nothing for that, is told once.
func TestAChangedRuleIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	file := "name: demo\nruntime: yaml\nplugins: {trust: {rules: [{source: '*', unsigned: false}, {source: 'path:**', unsigned: true}]}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(file), 0o644))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	var told []string
	p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}, Events: func(e engine.Event) {
		if d, ok := e.(engine.Diagnostic); ok {
			told = append(told, d.Message)
		}
	}})
	require.NoError(t, err)
	defer p.Close(t.Context())
	for _, name := range []string{"a.wasm", "b.wasm"} {
		_, err := p.admit(t.Context(), p.pathOrigin(filepath.Join(dir, name)), "sha256:00")
		require.NoError(t, err)
	}
	require.Len(t, told, 1)
	require.Contains(t, told[0], "the rule for * was about path:./a.wasm before")
	require.Contains(t, told[0], "the trust policy is in Husk.yaml")
}

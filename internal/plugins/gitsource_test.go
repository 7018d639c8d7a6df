package plugins

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/registry"
)

// Servers of git hand out commits of forks and of merges that were only asked for, by their hashes and by refs that anyone can make.
// They are not of the repository for a trust policy.
func TestACommitOfTheRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	commit := func(message string) string {
		git("commit", "--quiet", "--allow-empty", "-m", message)
		return git("rev-parse", "HEAD")
	}
	git("init", "--quiet", "-b", "main")
	first, second := commit("first"), commit("second")
	git("tag", "v1.0.0")
	git("checkout", "--quiet", "--detach", first)
	side := commit("side")
	git("branch", "side", side)
	git("checkout", "--quiet", "--detach", second)
	proposed := commit("proposed")
	git("update-ref", "refs/pull/1/head", proposed)
	git("checkout", "--quiet", "main")

	for _, one := range []struct {
		ref, commit string
		belongs     bool
	}{
		{"", second, true}, {"", first, true}, {"", side, false}, {"", proposed, false},
		{"main", first, true}, {"main", side, false}, {"main", proposed, false},
		{"v1.0.0", second, true}, {"v1.0.0", side, false}, {"side", side, true}, {"side", second, false},
		{side, side, true}, {proposed, proposed, false}, {"refs/pull/1/head", proposed, false}, {"pull/1/head", proposed, false},
		{"main", strings.Repeat("0", 40), false},
	} {
		from := registry.Source{Kind: registry.Git, URL: "file://" + filepath.ToSlash(dir), Ref: one.ref}
		err := belongs(t.Context(), from, one.commit)
		if one.belongs {
			require.NoError(t, err, "%v", one)
			continue
		}
		var foreign *ForeignCommitError
		require.ErrorAs(t, err, &foreign, "%v", one)
	}
}

// What a repository has is built, and nothing else of this machine: not by a link, and not with what others have put into the
// directory for temporary files, where the go command looks for it.
func TestARepositoryIsBuiltAlone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	outside, shared := t.TempDir(), t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("TMPDIR", shared)
	require.NoError(t, os.WriteFile(filepath.Join(shared, "go.work"), []byte("go 1.24\n"), 0o600))
	for _, dir := range []string{outside, filepath.Join(outside, "p")} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/outside\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { ofThisMachine() }\n"), 0o600))
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/x\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { ofTheRepository() }\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "crate"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crate", "Cargo.toml"), nil, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "own")))
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "-m", "all"}} {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	p, err := Open(t.Context(), nil, Options{Places: Places{Cache: t.TempDir()}})
	require.NoError(t, err)
	defer p.Close(t.Context())
	client, err := p.Registry(nil)
	require.NoError(t, err)
	for at, says := range map[string]string{"": "ofTheRepository", "own": "ofTheRepository", "link": `has no directory "link"`, "link/p": `has no directory "link/p"`,
		"crate": "the source is in rust, whose tools run code of it with your rights, and only source in Go is built of a repository"} {
		from := registry.Source{Kind: registry.Git, URL: "file://" + filepath.ToSlash(dir), Dir: at}
		_, _, err = p.BuildCommit(t.Context(), client, from, "")
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "ofThisMachine")
	}
}

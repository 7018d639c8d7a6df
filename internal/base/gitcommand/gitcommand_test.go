package gitcommand_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/gitcommand"
)

// A repository is checked out over HTTPS by branch, tag, and commit, also from a server that has only its files.
func TestCheckOutOverHTTPS(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	server := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("GIT_SSL_CAINFO", authority)
	git := gitcommand.In(t.Context(), dir, "preparing")
	done := func(args ...string) string {
		t.Helper()
		text, err := git(args...)
		require.NoError(t, err)
		return text
	}
	done("init", "--quiet", "--initial-branch=main")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("old"), 0o600))
	done("add", "text")
	done("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "old")
	old := done("rev-parse", "HEAD")
	done("tag", "v1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("new"), 0o600))
	done("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--all", "-m", "new")
	done("update-server-info")
	for ref, want := range map[string]string{"": "new", "main": "new", "refs/heads/main": "new", "v1": "old", old: "old"} {
		to := t.TempDir()
		_, err := gitcommand.CheckOut(t.Context(), to, server.URL+"/.git", ref)
		require.NoError(t, err, ref)
		text, err := os.ReadFile(filepath.Join(to, "text"))
		require.NoError(t, err)
		require.Equal(t, want, string(text), ref)
	}
	_, err := gitcommand.CheckOut(t.Context(), t.TempDir(), server.URL+"/.git", "none")
	require.ErrorContains(t, err, "fetching none from "+server.URL)
}

package port_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port"
)

// Who names no version gets the newest, of the highest major version.
func TestTheNewestVersion(t *testing.T) {
	sdk := imitations(t)
	built, err := port.Port(t.Context(), "example.com/terraform-provider-cat", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, "2.0.1", built.Manifest.Version)
	require.Equal(t, "example.com/terraform-provider-cat/v2", built.Manifest.Origin.Module)
}

// The tags of most providers are those of a release, and none of a Go module: git has what no module proxy serves.
func TestATagOfARepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	sdk := imitations(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := filepath.Join(home, "acme", "terraform-provider-dog")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	config := filepath.Join(home, "config")
	url := "file://" + filepath.ToSlash(home) + "/"
	require.NoError(t, os.WriteFile(config, []byte("[url \""+url+"\"]\n\tinsteadOf = https://github.com/\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "-m", "all"}, {"tag", "v3.1.0"}} {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, source := range []string{"acme/dog@3.1.0", "https://github.com/acme/terraform-provider-dog@v3.1.0"} {
		built, err := port.Port(t.Context(), source, port.Options{Dir: t.TempDir(), SDK: sdk})
		require.NoError(t, err, source)
		require.Equal(t, "5 provider dog old", described(t, built))
		require.Equal(t, "3.1.0", built.Manifest.Version)
		require.Equal(t, "dog", built.Manifest.Name)
	}
	_, err = port.Port(t.Context(), "acme/dog@3.2.0", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "fetching acme/dog@3.2.0: ")
	_, err = port.Port(t.Context(), "https://github.com/acme/terraform-provider-dog@v3.2.0", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "fetching v3.2.0 from https://github.com/acme/terraform-provider-dog: ")
}

// A proxy that has rules is told as such, for the provider and for what it needs.
func TestAProxyThatRefuses(t *testing.T) {
	sdk := imitations(t)
	modules := os.Getenv("GOPROXY")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/github.com/hashicorp/terraform-plugin-sdk/") || strings.HasPrefix(r.URL.Path, "/example.com/") {
			http.Error(w, "This module is not available.", http.StatusForbidden)
			return
		}
		http.Redirect(w, r, modules+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("GOPROXY", proxy.URL)
	for source, of := range map[string]string{
		"example.com/terraform-provider-cat@v1.2.3":                                        "example.com/terraform-provider-cat",
		files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}): "github.com/hashicorp/terraform-plugin-sdk/v2",
	} {
		_, err := port.Port(t.Context(), source, port.Options{Dir: t.TempDir(), SDK: sdk})
		require.ErrorContains(t, err, "the module proxy refuses "+proxy.URL+"/"+of+": 403 Forbidden (This module is not available)\nname another proxy in GOPROXY")
		require.NotContains(t, err.Error(), "does not build")
		require.NotContains(t, err.Error(), "go list -m -versions")
	}
}

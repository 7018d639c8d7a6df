package port_test

import (
	"errors"
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
	repository(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, nil)
	for _, source := range []string{"acme/dog@3.1.0", "https://github.com/acme/terraform-provider-dog@v3.1.0"} {
		built, err := port.Port(t.Context(), source, port.Options{Dir: t.TempDir(), SDK: sdk})
		require.NoError(t, err, source)
		require.Equal(t, "5 provider dog old", described(t, built))
		require.Equal(t, "3.1.0", built.Manifest.Version)
		require.Equal(t, "dog", built.Manifest.Name)
	}
	_, err := port.Port(t.Context(), "acme/dog@3.2.0", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "fetching acme/dog@3.2.0: ")
	_, err = port.Port(t.Context(), "https://github.com/acme/terraform-provider-dog@v3.2.0", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "fetching v3.2.0 from https://github.com/acme/terraform-provider-dog: ")
}

// repository makes acme/terraform-provider-dog at GitHub, as git sees it, with files and links. It has the tag v3.1.0. dir is a clone.
func repository(t *testing.T, files, links map[string]string) (dir string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(home, "acme", "terraform-provider-dog")
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, to := range links {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	config := filepath.Join(home, "config")
	url := "file://" + filepath.ToSlash(home) + "/"
	require.NoError(t, os.WriteFile(config, []byte("[url \""+url+"\"]\n\tinsteadOf = https://github.com/\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "-m", "all"}, {"tag", "v3.1.0"}} {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return dir
}

// A repository has its own files, and brings none of this machine into a module or into the cache: not by a link, a replacement in
// go.mod, a directory, or because it has no go.mod.
func TestARepositoryHasOnlyItsOwn(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	sdk := imitations(t)
	const from, canary = "https://github.com/acme/terraform-provider-dog", "var Canary = `of this machine`\n"
	outside := t.TempDir()
	for name, text := range map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo, "canary.go": "package main\n" + canary} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644))
	}
	for name, c := range map[string]struct {
		source       string
		files, links map[string]string
		fails        string
	}{
		"link to a file":           {from + "@v3.1.0", map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, map[string]string{"canary.go": filepath.Join(outside, "canary.go")}, ""},
		"link to a file of git":    {from + "@v3.1.0", map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, map[string]string{"canary.go": ".git/HEAD"}, ""},
		"link of a clone":          {"", map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, map[string]string{"canary.go": filepath.Join(outside, "canary.go")}, ""},
		"link to its own":          {from + "@v3.1.0", map[string]string{"go.mod": dogMod, "other/text": textGo, "main.go": dogGo}, map[string]string{"text.go": "other/text"}, ""},
		"link in place of go.mod":  {from + "@v3.1.0", map[string]string{"main.go": dogGo}, map[string]string{"go.mod": filepath.Join(outside, "go.mod")}, "go.mod"},
		"link to a directory":      {from + "//link@v3.1.0", map[string]string{"go.mod": dogMod}, map[string]string{"link": outside}, "has no directory link"},
		"directory behind a link":  {from + "//link/" + filepath.Base(outside) + "@v3.1.0", map[string]string{"go.mod": dogMod}, map[string]string{"link": filepath.Dir(outside)}, "has no directory link/"},
		"replacement":              {from + "@v3.1.0", map[string]string{"go.mod": dogMod + "replace example.com/x => " + filepath.ToSlash(outside) + "\n", "main.go": dogGo, "text.go": textGo}, nil, "which is not a directory of the repository"},
		"replacement beside it":    {from + "@v3.1.0", map[string]string{"go.mod": dogMod + "replace example.com/x => ../..\n", "main.go": dogGo, "text.go": textGo}, nil, "which is not a directory of the repository"},
		"no go.mod, but one above": {from + "@v3.1.0", map[string]string{"main.go": dogGo, "text.go": textGo}, nil, "has no go.mod"},
	} {
		t.Run(name, func(t *testing.T) {
			clone := repository(t, c.files, c.links)
			if c.source == "" {
				c.source = clone
			}
			cache := filepath.Join(t.TempDir(), "cache")
			require.NoError(t, os.Mkdir(cache, 0o700))
			if c.fails == "has no go.mod" { // a user who has one in his home directory
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(cache), "go.mod"), []byte(dogMod), 0o600))
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(cache), "canary.go"), []byte(canary), 0o600))
			}
			built, err := port.Port(t.Context(), c.source, port.Options{Dir: cache, SDK: sdk})
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
			} else {
				require.NoError(t, err)
				require.Equal(t, "5 provider dog old", described(t, built))
			}
			require.NoError(t, filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				require.NotContains(t, string(text), canary, path)
				return err
			}))
		})
	}
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
		require.ErrorContains(t, err, "the module proxy refuses "+proxy.URL+"/"+of+": 403 Forbidden (This module is not available)\nname another proxy in GOPROXY, or take what this one refuses from its repository: GOPROXY='PROXY|direct'")
		require.NotContains(t, err.Error(), "does not build")
		require.NotContains(t, err.Error(), "go list -m -versions")
	}
}

// A module that the provider needs and no proxy has is told as such, with what needs it. It is not the provider's own.
func TestAModuleThatIsNotThere(t *testing.T) {
	sdk := imitations(t)
	modules := os.Getenv("GOPROXY")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/terraform-plugin-sdk/v2/@v/v2.27.0.zip") {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, modules+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("GOPROXY", proxy.URL)
	dir := files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo})
	_, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	failed, ok := errors.AsType[*port.FetchError](err)
	require.True(t, ok, "%v", err)
	require.Len(t, failed.Packages, 1)
	const name = "github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
	require.Equal(t, []string{"example.com/terraform-provider-dog", name}, failed.Packages[0].Chain)
	require.ErrorContains(t, err, "the Go command cannot get packages of other modules\n  "+name+": github.com/hashicorp/terraform-plugin-sdk/v2@v2.27.0: reading "+
		proxy.URL+"/github.com/hashicorp/terraform-plugin-sdk/v2/@v/v2.27.0.zip: 404 Not Found")
	require.ErrorContains(t, err, "\n    needed by example.com/terraform-provider-dog\nCheck GOPROXY")
}

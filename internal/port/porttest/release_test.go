package porttest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/husk-dev/husk/internal/build/husksource"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

const project = husksource.Module

// release is a version that nobody has released.
const release = "v0.999.0"

// publish puts a directory as a module into the directory of a module proxy.
func publish(t *testing.T, proxy, path, dir string) {
	t.Helper()
	place := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	require.NoError(t, os.MkdirAll(place, 0o755))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"list": release + "\n", release + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, release), release + ".mod": string(mod),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(place, name), []byte(text), 0o644))
	}
	file, err := os.Create(filepath.Join(place, release+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromDir(file, module.Version{Path: path, Version: release}, dir))
	require.NoError(t, file.Close())
}

// A husk that was installed from a module proxy ports with the SDK and the adapters that it has: the proxy has none of them.
func TestTheSDKOfARelease(t *testing.T) {
	nightly.Skip(t)
	text, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	var env map[string]string
	require.NoError(t, json.Unmarshal(text, &env))
	dir := t.TempDir()
	modules := filepath.Join(dir, "modules")
	t.Cleanup(func() { // the Go command makes the directories read-only
		require.NoError(t, filepath.WalkDir(modules, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		}))
	})
	proxy := filepath.Join(dir, "proxy")
	publish(t, proxy, project, "../../..")
	fetched := "file://" + filepath.Join(env["GOMODCACHE"], "cache", "download")
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=file://"+proxy+","+fetched+","+env["GOPROXY"], "GOSUMDB=off", "GOMODCACHE="+modules,
			"GOBIN="+dir, "GOFLAGS=", "GOWORK=off", "HUSK_CACHE_DIR="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("go", "install", "-trimpath", project+"/cmd/husk@"+release, project+"/cmd/husk/husk-full@"+release)
	require.NoError(t, err, out)
	provider, err := filepath.Abs("../../../testdata/ported/framework")
	require.NoError(t, err)
	out, err = run(filepath.Join(dir, "husk"), "provider", "port", provider, "--name", "shelf", "--version", "1.2.3")
	require.NoError(t, err, out)
	require.Contains(t, out, "shelf 1.2.3")
}

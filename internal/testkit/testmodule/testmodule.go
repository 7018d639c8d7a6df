// Package testmodule builds the modules of tests, and loads them into hosts that share one cache of
// machine code: among the tests of a process, among processes, and from one run to the next.
//
// The cache is in the user's cache directory, or in the directory HUSK_TEST_CACHE. Each state of the
// host's source has its own directory there, so no test runs the code of another rewriter or
// compiler; see [CacheDir]. Directories without use for some days are removed.
package testmodule

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/build/gobuild"
	"github.com/husk-dev/husk/internal/testkit/racedetector"
)

// Skip skips a test that builds and runs modules if tests are to be short, or under the race detector, which makes modules many
// times slower and sees nothing of their work.
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() || racedetector.Enabled {
		t.Skip("builds and compiles a module")
	}
}

// Main runs a package's tests with the shared cache, whose key hosts with own caches use, too.
func Main(m *testing.M) {
	if _, err := openCache(); err != nil {
		fmt.Fprintln(os.Stderr, "opening the cache of the tests:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// built are the modules of this process, by directory.
var built sync.Map

// Build builds the module of the main package in a directory, and returns its bytes. The go command
// knows that the test's result depends on the source of the module.
func Build(t testing.TB, dir string) []byte {
	t.Helper()
	wasm, err := Bytes(dir)
	require.NoError(t, err)
	return wasm
}

// Bytes is [Build] for examples.
func Bytes(dir string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	build, _ := built.LoadOrStore(dir, sync.OnceValues(func() ([]byte, error) {
		cache, err := openCache()
		if err != nil {
			return nil, err
		}
		if err := dependOn(dir, "GOOS=wasip1", "GOARCH=wasm"); err != nil {
			return nil, err
		}
		return (&gobuild.Builder{Dir: filepath.Join(cache, "built")}).Build(context.Background(), dir)
	}))
	return build.(func() ([]byte, error))()
}

// File is [Build] for a test that needs a file.
func File(t testing.TB, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(dir)+".wasm")
	require.NoError(t, atomicfile.WriteUnsynced(file, Build(t, dir), 0o600))
	return file
}

// Host makes a host with the shared cache that lives as long as the test.
func Host(t testing.TB, config host.Config) *host.Host {
	t.Helper()
	h, err := host.New(t.Context(), config.WithCacheDir(CacheDir(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

// Load builds the module of the main package in a directory, and loads it into a host with the
// shared cache. It skips tests like [Skip].
func Load(t testing.TB, dir string, config host.Config) *host.Module {
	t.Helper()
	Skip(t)
	module, err := Host(t, config).LoadBytes(t.Context(), Build(t, dir))
	require.NoError(t, err)
	return module
}

// DependOn makes the result of the test depend on the source of a main package and of its imports.
// It is for programs that the test builds itself.
func DependOn(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, dependOn(dir))
}

// dependOn opens the directories of the packages without a release, because the go command remembers
// which directories a test opened.
func dependOn(dir string, environment ...string) error {
	packages, err := dependencies(dir, ".", environment...)
	if err != nil {
		return err
	}
	for _, p := range packages {
		if p.release() == "" {
			if f, err := os.Open(p.Dir); err == nil {
				f.Close()
			}
		}
	}
	return nil
}

// ShareCache gives the user whose configuration is in a directory the key of the cache that [Cache] returns, so that code that is
// there counts for them. With a key of their own, they would compile each module again, and their compiled code would not count
// for other tests.
func ShareCache(cache, config string) error {
	key, err := os.ReadFile(filepath.Join(cache, "config", "husk", keyFile))
	if err != nil {
		return err
	}
	own := filepath.Join(config, "husk")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(filepath.Join(own, keyFile), key, 0o600)
}

// User returns the environment of a user with a home directory and the key of the shared cache, so
// that the modules of all such users are compiled once.
func User(t testing.TB, home string) []string {
	t.Helper()
	cache := filepath.Dir(CacheDir(t))
	require.NoError(t, ShareCache(filepath.Dir(CacheDir(t)), ConfigDir(home)))
	environment := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "AppData=" + home, "LocalAppData=" + home,
		"HUSK_CACHE_DIR=" + cache, "NO_COLOR=1",
	}
	// The go command keeps its caches in the home directory.
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	values, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	require.NoError(t, err)
	for i, value := range strings.Split(strings.TrimSpace(string(values)), "\n") {
		environment = append(environment, names[i]+"="+value)
	}
	return environment
}

// Uncounted has go commands of a user with a directory of configuration count nothing: a command that counts its uses still writes there
// when it has ended, and the directory of a test could not be removed.
func Uncounted(t testing.TB, config string) {
	t.Helper()
	dir := filepath.Join(config, "go", "telemetry")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o644))
}

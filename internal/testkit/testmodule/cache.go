package testmodule

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
)

const (
	// cacheVariable names the environment variable with the directory of all caches.
	cacheVariable = "HUSK_TEST_CACHE"
	// hostPackage is the package whose source and imports define the code of modules.
	hostPackage = "github.com/husk-dev/husk/host"
	// keyFile has the key that seals the cache.
	keyFile = "cache.key"
	// usedFile has the time of the last opening of a cache.
	usedFile = "used"

	// keptUnused is the age at which unused caches are removed, and unused entries of a cache that
	// is opened.
	keptUnused = 3 * 24 * time.Hour
	// mostCaches bounds the caches, of up to 1 GB each. Each change of the host makes a new one.
	mostCaches = 4
	// longestUse is the time after which no process uses a cache any more: a process that goes on says so each quarter of it.
	longestUse = 20 * time.Minute
)

// CacheDir returns the directory of machine code that all tests share, for
// [host.Config.WithCacheDir].
//
// Its name has a digest of the source of the host and its imports, of the versions of modules, and
// of Go's. If the source changed after the go command began to build this process, it is a digest of
// the process's program.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir, err := Compiled()
	require.NoError(t, err)
	return dir
}

// Compiled is [CacheDir] for examples.
func Compiled() (string, error) {
	dir, err := openCache()
	return compiledIn(dir), err
}

// Cache returns the cache directory of husk that all tests share, for HUSK_CACHE_DIR.
func Cache() (string, error) { return openCache() }

// compiledIn returns the directory of machine code in husk's cache directory.
func compiledIn(cache string) string { return filepath.Join(cache, "compiled") }

// started is the initial directory of the process, the directory of the package under test.
var started, _ = os.Getwd()

// openCache opens the cache of this process's host. From then on the process has its own directory
// for configuration, if the system lets a variable name it, because the key of the cache is there
// and must be the same for all tests.
var openCache = sync.OnceValues(func() (string, error) {
	all := os.Getenv(cacheVariable)
	if all == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			caches = os.TempDir() // the host sees to it that the directory is the user's
		}
		all = filepath.Join(caches, "husk-test")
	}
	key, err := hostKey(started, hostPackage, builtSince())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(all, key)
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o700); err != nil {
		return "", err
	}
	if err := use(dir); err != nil {
		return "", err
	}
	go func() {
		for range time.Tick(longestUse / 4) {
			_ = use(dir) // no other process removes it before the next time
		}
	}()
	if err := prune(all, time.Now()); err != nil {
		return "", err
	}
	compiled := compiledIn(dir)
	if _, err := host.PruneCache(compiled, time.Now().Add(-keptUnused)); err != nil {
		return "", err
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "AppData"} {
		if err := os.Setenv(name, filepath.Join(dir, "config")); err != nil {
			return "", err
		}
	}
	h, err := host.New(context.Background(), host.NewConfig().WithCacheDir(compiled)) // which makes the key
	if err != nil {
		return "", err
	}
	return dir, h.Close(context.Background())
})

// use notes that a cache is in use.
func use(dir string) error { return os.WriteFile(filepath.Join(dir, usedFile), nil, 0o600) }

// prune removes caches without recent use, and the oldest of too many.
func prune(all string, now time.Time) error {
	opened, err := filepath.Glob(filepath.Join(all, "*", usedFile))
	if err != nil {
		return err
	}
	times := make(map[string]time.Time, len(opened))
	for _, file := range opened {
		if info, err := os.Stat(file); err == nil { // else another process has removed it
			times[file] = info.ModTime()
		}
	}
	slices.SortStableFunc(opened, func(a, b string) int { return times[b].Compare(times[a]) })
	var failures []error
	for n, file := range opened {
		unused := now.Sub(times[file])
		if unused > keptUnused || n >= mostCaches && unused > longestUse {
			failures = append(failures, os.RemoveAll(filepath.Dir(file)))
		}
	}
	return errors.Join(failures...)
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir              string
	Standard                     bool
	GoFiles, SFiles, HFiles      []string
	CgoFiles, CFiles, EmbedFiles []string
	Module                       *struct {
		Path, Version string
		Replace       *struct{ Path, Version string }
	}
}

// release returns the version of a package that never changes, or "".
func (p *listed) release() string {
	switch m := p.Module; {
	case p.Standard:
		return "standard"
	case m == nil:
		return ""
	case m.Replace == nil:
		return m.Version
	case m.Replace.Version == "":
		return ""
	default:
		return m.Replace.Path + "@" + m.Replace.Version
	}
}

// dependencies lists a package and all of its imports.
func dependencies(dir, pattern string, environment ...string) ([]*listed, error) {
	list := exec.Command("go", "list", "-deps",
		"-json=ImportPath,Dir,Standard,GoFiles,SFiles,HFiles,CgoFiles,CFiles,EmbedFiles,Module", pattern)
	list.Dir, list.Env = dir, append(os.Environ(), environment...)
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w: %s", pattern, err, said.String())
	}
	var packages []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		switch err := decoder.Decode(p); {
		case err == nil:
			packages = append(packages, p)
		case errors.Is(err, io.EOF):
			return packages, nil
		default:
			return nil, err
		}
	}
}

// hostKey returns the digest of everything that defines how the package compiles modules. If its
// source may be newer than this process, or there is no go command to list it, it is the digest of
// the process's program.
func hostKey(dir, pkg string, built time.Time) (string, error) {
	if built.IsZero() {
		return programKey()
	}
	packages, err := dependencies(dir, pkg)
	if err != nil {
		return programKey()
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, p := range packages {
		release := p.release()
		fmt.Fprintln(sum, p.ImportPath, release)
		if release != "" {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.CgoFiles, p.CFiles, p.EmbedFiles) {
			file := filepath.Join(p.Dir, name)
			if changed := changedAt(file); changed.IsZero() || !changed.Before(built) {
				return programKey()
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
		}
	}
	return "host-" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// programKey returns the digest of this process's program.
func programKey() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return "", err
	}
	return "program-" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// ConfigDir returns the directory for configuration of a user with a home; see [os.UserConfigDir].
func ConfigDir(home string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return home
}

package projectroot_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

const limit = 1 << 10

// tree makes a directory with a project, and beside it a canary.
func tree(t *testing.T) (project, outside string) {
	t.Helper()
	dir := t.TempDir()
	project, outside = filepath.Join(dir, "project"), filepath.Join(dir, "outside")
	for name, text := range map[string]string{
		"project/Husk.yaml": "name: shop", "project/deep/main.yaml": "outputs: {}", "outside/canary": "canary",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, target := range map[string]string{
		"inner": "deep/main.yaml", "dir": "deep", "relative": "../outside/canary", "absolute": filepath.Join(outside, "canary"),
		"nowhere": "../outside/missing", "away": "../outside", "parent": "..", "deep/up": "../../outside/canary",
		"home": filepath.Join(project, "Husk.yaml"), "chain": "relative", "circle": "circle",
		"environ": "/proc/self/environ", "zero": "/dev/zero",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(project, name)))
	}
	sparse, err := os.Create(filepath.Join(project, "sparse"))
	require.NoError(t, err)
	require.NoError(t, sparse.Truncate(1<<40))
	require.NoError(t, sparse.Close())
	require.NoError(t, os.WriteFile(filepath.Join(project, "large"), make([]byte, limit+1), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(project, "enough"), make([]byte, limit), 0o600))
	return project, outside
}

// Each way out is refused by each method, and the refusal does not depend on what is there.
func TestNothingLeadsOutside(t *testing.T) {
	project, outside := tree(t)
	r := projectroot.New(project, projectroot.Untrusted)
	for _, name := range []string{
		filepath.Join(outside, "canary"), filepath.Join(outside, "missing"), "../outside/canary", "../outside/missing", "deep/../../outside/canary",
		"relative", "absolute", "nowhere", "away", "away/canary", "away/missing", "parent", "parent/outside/canary", "deep/up", "home", "chain", "environ", "zero",
		"/etc/passwd", "/proc/self/environ", "/dev/zero", "..", "/",
	} {
		for method, err := range map[string]error{
			"Stat":      errorOf(r.Stat(name)),
			"Open":      errorOf(r.Open(name)),
			"OpenAny":   errorOf(r.OpenAny(name)),
			"ReadFile":  errorOf(r.ReadFile(name, limit)),
			"ReadDir":   errorOf(r.ReadDir(name)),
			"Locate":    errorOf(r.Locate(name)),
			"Real":      errorOf(r.Real(name)),
			"WriteFile": r.WriteFile(filepath.Join(name, "x"), nil, 0o600),
			"MkdirAll":  r.MkdirAll(filepath.Join(name, "x"), 0o700),
			"Remove":    r.Remove(filepath.Join(name, "x")),
			"Rename":    r.Rename("enough", filepath.Join(name, "x")),
			"Rename to": r.Rename(filepath.Join(name, "x"), "y"),
			"Alone":     r.Alone(filepath.Join(name, "x"), func() error { return nil }),
		} {
			require.Error(t, err, "%s of %s", method, name)
			require.ErrorIs(t, err, projectroot.ErrOutside, "%s of %s", method, name)
		}
		visited := 0
		require.Error(t, r.WalkDir(name, func(_ string, entry fs.DirEntry, err error) error {
			if entry != nil {
				visited++
			}
			return err
		}), name)
		require.Zero(t, visited, name)
	}
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func errorOf[T any](_ T, err error) error { return err }

func TestWhatIsInside(t *testing.T) {
	project, _ := tree(t)
	for _, trust := range []projectroot.Trust{projectroot.Untrusted, projectroot.Trusted} {
		r := projectroot.New(project, trust)
		for _, name := range []string{"Husk.yaml", "./Husk.yaml", "deep/../Husk.yaml", filepath.Join(project, "Husk.yaml")} {
			text, err := r.ReadFile(name, limit)
			require.NoError(t, err, name)
			require.Equal(t, "name: shop", string(text))
		}
		text, err := r.ReadFile("inner", limit)
		require.NoError(t, err)
		require.Equal(t, "outputs: {}", string(text))
		entries, err := r.ReadDir("dir")
		require.NoError(t, err)
		require.Equal(t, []string{"main.yaml", "up"}, []string{entries[0].Name(), entries[1].Name()})
		_, err = r.ReadFile("deep", limit)
		require.ErrorIs(t, err, projectroot.ErrIsDirectory)
		_, err = r.ReadDir("Husk.yaml")
		require.Error(t, err)
		_, err = r.ReadFile("missing", limit)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = r.ReadFile("circle", limit)
		require.Error(t, err)
		_, err = r.ReadFile("enough", limit)
		require.NoError(t, err)
		for _, name := range []string{"large", "sparse"} {
			_, err = r.ReadFile(name, limit)
			var large *projectroot.TooLargeError
			require.ErrorAs(t, err, &large, name)
		}
		_, err = r.ReadFile("Husk.yaml\x00", limit)
		require.Error(t, err)
		located, err := r.Locate("inner")
		require.NoError(t, err)
		if trust == projectroot.Untrusted {
			require.Equal(t, filepath.Join(project, "deep", "main.yaml"), located)
		}
		_, err = r.Locate("missing")
		require.NoError(t, err)
		require.True(t, r.Owns("inner"))
		require.True(t, r.Owns("missing"))
		require.False(t, r.Owns("../outside/canary"))
		require.Equal(t, trust == projectroot.Untrusted, r.Owns("relative"), "which an untrusted project cannot open")
	}
}

// A repository that a project came with is whose clone it is: its credentials are read by no name, and its commands not written.
// The same holds for what Husk keeps beside a project, which Husk alone opens.
func TestTheRepositoryOfAProjectIsNotItsOwn(t *testing.T) {
	project, _ := tree(t)
	for _, dir := range []string{".git", "deep/.git", ".hg", ".svn", ".jj", ".husk", "deep/.husk"} {
		require.NoError(t, os.MkdirAll(filepath.Join(project, dir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(project, dir, "config"), []byte("canary"), 0o600))
	}
	require.NoError(t, os.Symlink(".git", filepath.Join(project, "store")))
	require.NoError(t, os.Symlink("../deep/.git/config", filepath.Join(project, "deep", "settings")))
	require.NoError(t, os.Symlink("deep/../.husk", filepath.Join(project, "kept")))
	r := projectroot.New(project, projectroot.Untrusted)
	for _, name := range []string{
		".git/config", "deep/.git/config", ".hg/config", ".svn/config", ".jj/config", "deep/../.git/config", ".GIT/config", ".git ./config", ".git::$INDEX_ALLOCATION/config",
		filepath.Join(project, ".git", "config"), "store/config", "deep/settings", "store", "store/missing", ".git/missing", ".git",
		".husk", ".husk/config", "deep/.husk/config", "deep/../.husk/config", ".HUSK/config", ".hu\u017fk/config", ".husk./config", ".husk/missing", "kept", "kept/config", "kept/missing",
		filepath.Join(project, ".husk", "config"),
	} {
		for method, err := range map[string]error{
			"Stat": errorOf(r.Stat(name)), "Open": errorOf(r.Open(name)), "ReadFile": errorOf(r.ReadFile(name, limit)), "ReadDir": errorOf(r.ReadDir(name)),
			"Locate": errorOf(r.Locate(name)), "Real": errorOf(r.Real(name)), "WriteFile": r.WriteFile(filepath.Join(name, "x"), nil, 0o600),
			"MkdirAll": r.MkdirAll(filepath.Join(name, "x"), 0o700), "Remove": r.Remove(filepath.Join(name, "x")), "Rename": r.Rename("enough", filepath.Join(name, "x")),
		} {
			require.ErrorIs(t, err, projectroot.ErrOutside, "%s of %s", method, name)
		}
	}
	var seen []string
	require.NoError(t, r.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		seen = append(seen, filepath.Base(path))
		return err
	}))
	require.Contains(t, seen, "main.yaml")
	require.NotContains(t, seen, "config")
	entries, err := r.ReadDir("deep")
	require.NoError(t, err)
	require.Len(t, entries, 3, "main.yaml, and two links")
	text, err := projectroot.New(project, projectroot.Trusted).ReadFile("store/config", limit)
	require.NoError(t, err)
	require.Equal(t, "canary", string(text))

	own := r.WithState()
	for name, opens := range map[string]bool{".husk/config": true, "kept/config": true, "deep/.husk/config": true, ".git/config": false, "store/config": false, "relative": false} {
		_, err := own.ReadFile(name, limit)
		require.Equal(t, opens, err == nil, "%s: %v", name, err)
	}
}

// A trusted project has what its user has.
func TestATrustedProjectHasTheFileSystem(t *testing.T) {
	project, outside := tree(t)
	r := projectroot.New(project, projectroot.Trusted)
	for _, name := range []string{filepath.Join(outside, "canary"), "../outside/canary", "relative", "absolute", "away/canary"} {
		text, err := r.ReadFile(name, limit)
		require.NoError(t, err, name)
		require.Equal(t, "canary", string(text))
	}
	require.NoError(t, r.WriteFile("relative", []byte("written"), 0o644))
	text, err := os.ReadFile(filepath.Join(outside, "canary"))
	require.NoError(t, err)
	require.Equal(t, "written", string(text), "a link is written through")
}

func TestWhatIsWritten(t *testing.T) {
	for _, trust := range []projectroot.Trust{projectroot.Untrusted, projectroot.Trusted} {
		project, outside := tree(t)
		r := projectroot.New(project, trust)
		require.NoError(t, r.WriteFile("new/deep/file", []byte("one"), 0o640))
		require.NoError(t, r.WriteFile("new/deep/file", []byte("two"), 0o600))
		text, err := r.ReadFile("new/deep/file", limit)
		require.NoError(t, err)
		require.Equal(t, "two", string(text))
		info, err := r.Stat("new/deep/file")
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode().Perm(), "an existing file keeps its mode")
		entries, err := r.ReadDir("new/deep")
		require.NoError(t, err)
		require.Len(t, entries, 1, "no temporary file stays")
		require.NoError(t, r.Rename("new/deep/file", "new/file"))
		require.NoError(t, r.Remove("new/file"))
		require.NoError(t, r.MkdirAll("made/too", 0o700))
		if trust == projectroot.Untrusted {
			require.NoError(t, r.WriteFile("relative", []byte("written"), 0o600), "the link is replaced")
			text, err = os.ReadFile(filepath.Join(outside, "canary"))
			require.NoError(t, err)
			require.Equal(t, "canary", string(text))
		}
	}
}

// One changes a file, and the others wait.
func TestChangesAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no directory can be locked there")
	}
	for _, trust := range []projectroot.Trust{projectroot.Untrusted, projectroot.Trusted} {
		project, _ := tree(t)
		r := projectroot.New(project, trust)
		require.NoError(t, r.Alone("absent/deep/counter", func() error { return r.WriteFile("absent/deep/counter", nil, 0o600) }))
		var all sync.WaitGroup
		var failed [8]error
		for i := range failed {
			all.Go(func() {
				failed[i] = r.Alone("absent/deep/counter", func() error {
					text, err := r.ReadFile("absent/deep/counter", limit)
					return errors.Join(err, r.WriteFile("absent/deep/counter", append(text, '1'), 0o600))
				})
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(failed[:]...))
		text, err := r.ReadFile("absent/deep/counter", limit)
		require.NoError(t, err)
		require.Len(t, text, len(failed))
		failure := errors.New("the change fails")
		require.ErrorIs(t, r.Alone("absent/deep/counter", func() error { return failure }), failure)
		require.Error(t, r.Alone("deep/main.yaml/below", func() error { return nil }), "a file is no directory")
	}
}

// Whoever replaces a directory by a link while files are opened gets what is in the project, or an error.
func TestLinksThatAreSwappedIn(t *testing.T) {
	project, _ := tree(t)
	r := projectroot.New(project, projectroot.Untrusted)
	require.NoError(t, os.Mkdir(filepath.Join(project, "real"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(project, "real", "canary"), []byte("own"), 0o600))
	require.NoError(t, os.Symlink("../outside", filepath.Join(project, "trap")))
	at := filepath.Join(project, "at")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			next := filepath.Join(project, "next")
			target := "real"
			if i%2 == 0 {
				target = "trap"
			}
			_ = os.Symlink(target, next)
			_ = os.Rename(next, at)
		}
	}()
	for range 2000 {
		text, err := r.ReadFile("at/canary", limit)
		if err == nil {
			require.Equal(t, "own", string(text))
			continue
		}
		require.True(t, errors.Is(err, projectroot.ErrOutside) || errors.Is(err, fs.ErrNotExist), "%v", err)
	}
	close(stop)
	<-ended
}

func TestTextsOfAnEditorStandForFiles(t *testing.T) {
	project, outside := tree(t)
	canary := filepath.Join(outside, "canary")
	r := projectroot.New(project, projectroot.Untrusted).Overlay(func(path string) ([]byte, bool) {
		return []byte("edited"), path == filepath.Join(project, "Husk.yaml") || path == canary
	})
	text, err := r.ReadFile("Husk.yaml", limit)
	require.NoError(t, err)
	require.Equal(t, "edited", string(text))
	text, err = r.ReadFile("inner", limit)
	require.NoError(t, err)
	require.Equal(t, "outputs: {}", string(text))
	_, err = r.ReadFile(canary, limit)
	require.ErrorIs(t, err, projectroot.ErrOutside)
}

// A project that came with files beside its directory has these as well, and nothing above them.
func TestFilesThatCameWithAProject(t *testing.T) {
	project, _ := tree(t)
	top := filepath.Dir(project)
	deep := filepath.Join(project, "deep")
	r := projectroot.New(deep, projectroot.Untrusted).Within(project)
	require.Equal(t, deep, r.Dir())
	text, err := r.ReadFile("../Husk.yaml", limit)
	require.NoError(t, err)
	require.Equal(t, "name: shop", string(text))
	path, err := r.Locate("../Husk.yaml")
	require.NoError(t, err)
	require.Equal(t, "Husk.yaml", filepath.Base(path))
	require.True(t, r.Owns("../Husk.yaml"))
	var seen []string
	require.NoError(t, r.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		seen = append(seen, path)
		return err
	}))
	require.Contains(t, seen, filepath.Join(deep, "main.yaml"))
	for _, name := range []string{"../../outside/canary", filepath.Join(top, "outside", "canary"), "up", "../relative", "../.."} {
		_, err := r.Stat(name)
		require.ErrorIs(t, err, projectroot.ErrOutside, name)
	}
	elsewhere := r.Within(filepath.Join(top, "outside"))
	_, err = elsewhere.Stat("../../outside/canary")
	require.ErrorIs(t, err, projectroot.ErrOutside, "the project is not in there")
}

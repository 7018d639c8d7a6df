package difftest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	local "github.com/husk-dev/husk/examples/providers/local/provider"
	"github.com/husk-dev/husk/host"
)

// The program works in one directory and the module in another, and both find the
// same there all the time. All paths are inside of what the module was granted:
// elsewhere the two must differ.
func TestLocal(t *testing.T) {
	build, err := filepath.Abs("../../providers/local")
	require.NoError(t, err)
	native, module := t.TempDir(), t.TempDir()
	t.Chdir(native)
	out, err := grant.InProject(module, "out", true)
	require.NoError(t, err)
	w := newWorld(t, local.New(), build, host.Grants{FS: []host.FSGrant{out}})

	paths := []any{"out/present", "out/a", "out/b", "out/dir/a", "out/dir", "out/dir/sub", "out//dir/./a", "out/a/under", "out", "out/link/a", "out/ü", "out/a/", "out/loop/x"}
	w.words = map[string][]any{
		"path":    paths,
		"content": {"", "hello", "Zürich"}, "sensitiveContent": {"hunter2"}, "contentBase64": {"", "/w==", "aGVsbG8=\n", "!"},
		"filePermission": {"0600", "0644", "755", "0999", ""}, "directoryPermission": {"0700", "0755", "750", "x"},
	}
	for _, path := range paths {
		w.ids = append(w.ids, path.(string))
	}
	w.confine = func(inputs property.Map) property.Map {
		if path, ok := inputs.Get("path").Plain().AsString(); ok && !isGranted(path) {
			inputs = inputs.With("path", property.String("out/a"))
		}
		return inputs
	}
	w.tidy = func(t *rapid.T, token string, inputs property.Map) property.Map {
		if token != "local:index/file:File" {
			return inputs
		}
		names := []string{"content", "sensitiveContent", "contentBase64"}
		keep := rapid.SampledFrom(names).Draw(t, "told by")
		kept := inputs.Get(keep)
		if kept.IsNull() {
			kept = pt.Of(rapid.SampledFrom(w.words[keep]).Draw(t, keep))
		}
		return inputs.Without(names...).With(keep, kept)
	}
	both := func(change func(dir string)) {
		change(native)
		change(module)
	}
	w.begin = func() {
		both(func(dir string) {
			out := filepath.Join(dir, "out")
			if os.Mkdir(out, 0o755) != nil {
				entries, err := os.ReadDir(out)
				require.NoError(t, err)
				for _, entry := range entries {
					require.NoError(t, os.RemoveAll(filepath.Join(out, entry.Name())))
				}
				require.NoError(t, os.Chmod(out, 0o755))
			}
			require.NoError(t, os.WriteFile(filepath.Join(out, "present"), []byte("hello"), 0o644))
		})
	}
	w.check = func(t *rapid.T) {
		require.Equal(t, tree(t, filepath.Join(native, "out")), tree(t, filepath.Join(module, "out")))
	}
	w.more = map[string]func(*rapid.T){
		"tamper": func(t *rapid.T) {
			how := rapid.IntRange(0, 5).Draw(t, "how")
			path := rapid.SampledFrom([]string{"out/a", "out/b", "out/dir", "out/dir/a", "out/link"}).Draw(t, "path")
			both(func(dir string) {
				at := filepath.Join(dir, path)
				switch how { // whether it is possible, both know alike
				case 0:
					os.WriteFile(at, []byte("tampered"), 0o644)
				case 1:
					os.WriteFile(at, []byte{0xff}, 0o644)
				case 2:
					os.Chmod(at, 0o640)
				case 3:
					os.RemoveAll(at)
				case 4:
					os.Mkdir(at, 0o711)
				case 5:
					os.Symlink("dir", filepath.Join(dir, "out/link"))
					os.Symlink("loop", filepath.Join(dir, "out/loop"))
				}
			})
		},
	}
	w.samples = map[string]property.Map{
		"local:index/file:File":           pt.MapOf(pt.Object{"path": "out/dir/a", "content": "hello"}),
		"local:index/directory:Directory": pt.MapOf(pt.Object{"path": "out/dir/sub"}),
		"local:index/getFile:getFile":     pt.MapOf(pt.Object{"path": "out/present"}),
	}
	w.live()
}

// isGranted reports whether a path lies in the granted directory.
func isGranted(path string) bool {
	rel, err := filepath.Rel("out", path)
	return err == nil && filepath.IsLocal(rel)
}

// tree returns all that there is in a directory.
func tree(t require.TestingT, dir string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if path == dir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		switch info.Mode().Type() {
		case 0:
			content, err = os.ReadFile(path)
		case fs.ModeSymlink:
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		}
		found[path[len(dir):]] = info.Mode().String() + " " + string(content)
		return err
	})
	require.NoError(t, err)
	return found
}

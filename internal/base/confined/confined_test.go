package confined

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree makes files that contain their own path, and links.
func tree(t *testing.T, files []string, links map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links and paths are written as on Unix")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	for link, target := range links {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	return dir
}

func TestWhatIsWithheld(t *testing.T) {
	dir := tree(t, []string{"p/Husk.yaml", "p/in/f", "elsewhere/x.wasm"}, map[string]string{"p/mods": "../elsewhere", "q": "p"})
	list, err := Withhold(filepath.Join(dir, "q/Husk.yaml"), filepath.Join(dir, "q/Husk.*.yaml"), filepath.Join(dir, "p/mods/x.wasm"), filepath.Join(dir, "p/.husk"))
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"p/Husk.yaml": true, "q/Husk.yaml": true, "p/HUSK.YAML": true, "p/Husk.dev.yaml": true, "p/husk.DEV.yaml": true, "p/Husk.yaml/x": true,
		"p/mods/x.wasm": true, "elsewhere/x.wasm": true, "p/.husk": true, "p/.husk/a/b": true,
		"p": false, "p/in": false, "p/Husk.yaml2": false, "p/Husk.yml": false, "p/in/Husk.yaml": false, "Husk.yaml": false, "p/.huskx": false,
		"p/mods": false, "elsewhere": false,
	} {
		require.Equal(t, want, list.Covers(filepath.Join(dir, "p"), filepath.Join(dir, path), nil), path)
	}
	for path, want := range map[string]bool{
		"p": true, "q": true, "p/mods": true, "elsewhere": true, ".": true, "p/in": false, "p/Husk.yaml": false, "p/.husk": false, "p/m": false,
	} {
		require.Equal(t, want, list.Pins(filepath.Join(dir, path)), path)
	}
	// Who is confined to what is withheld, or to a part of it, was given just that.
	require.False(t, list.Covers(filepath.Join(dir, "p/.husk"), filepath.Join(dir, "p/.husk/a"), nil))
	require.False(t, list.Covers(filepath.Join(dir, "p/.husk/a"), filepath.Join(dir, "p/.husk/a/b"), nil))
	require.True(t, list.Covers(filepath.Join(dir, "p/.husk"), filepath.Join(dir, "p/Husk.yaml"), nil))

	// A file is known by another name, too.
	require.NoError(t, os.Link(filepath.Join(dir, "p/Husk.yaml"), filepath.Join(dir, "p/in/same")))
	info, err := os.Lstat(filepath.Join(dir, "p/in/same"))
	require.NoError(t, err)
	require.True(t, list.Covers(filepath.Join(dir, "p"), filepath.Join(dir, "p/in/same"), info))
}

func TestWhatIsWithheldInAllDirectories(t *testing.T) {
	dir := tree(t, []string{"p/.git/config", "p/in/.git/config"}, map[string]string{"q": "p"})
	list, err := Withhold(filepath.Join(dir, "q/**/.git"))
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"p/.git": true, "p/.git/config": true, "p/.GIT/config": true, "p/in/.git": true, "p/in/new/.git/config": true, "q/in/.git": true,
		"p": false, "p/in": false, "p/git": false, "p/in/.gitignore": false, ".git": false,
	} {
		require.Equal(t, want, list.Covers(filepath.Join(dir, "p"), filepath.Join(dir, path), nil), path)
	}
	require.False(t, list.Pins(filepath.Join(dir, "p/in")))
	require.False(t, list.Covers(filepath.Join(dir, "p/.git"), filepath.Join(dir, "p/.git/config"), nil), "which a user has granted by its name")
}

func TestNothingIsOpenedOutsideOfADirectory(t *testing.T) {
	dir := tree(t, []string{"p/f", "p/d/f", "p/.husk/f", "secret"},
		map[string]string{"p/up": "../secret", "p/fine": "d/f", "p/state": ".husk/f", "p/gone": "none", "q": "p"})
	withheld, err := Withhold(filepath.Join(dir, "p/.husk"))
	require.NoError(t, err)
	for _, root := range []string{"p", "q"} {
		d := Dir{Path: filepath.Join(dir, root), Withheld: withheld}
		for path, want := range map[string]string{"p/f": "p/f", "q/f": "p/f", "p/d/f": "p/d/f", "p/fine": "p/d/f", "p/d/../f": "p/f"} {
			file, err := d.Open(filepath.Join(dir, path))
			if root == "p" && path == "q/f" { // another name of the directory, which it was not given by
				require.ErrorIs(t, err, ErrOutside)
				continue
			}
			require.NoError(t, err, path)
			content := make([]byte, 100)
			n, err := file.Read(content)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			require.Equal(t, want, string(content[:n]))
		}
		for path, want := range map[string]error{
			"secret": ErrOutside, "p/up": ErrOutside, "p/../secret": ErrOutside, "p/.husk/f": ErrOutside, "p/state": ErrOutside, "p/gone": ErrOutside,
			"p/none": fs.ErrNotExist, "none": ErrOutside, "p/d": errNotRegular, "p": errNotRegular,
		} {
			_, err := d.Open(filepath.Join(dir, path))
			require.ErrorIs(t, err, want, path)
		}
	}
}

func TestADirectoryIsEnteredAsWhatItWasSeenToBe(t *testing.T) {
	dir := tree(t, []string{"d/f", "other/f"}, map[string]string{"link": "d"})
	root, err := OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = Descend(root, []string{"link"}, 0)
	var link *LinkError
	require.ErrorAs(t, err, &link)
	_, err = Descend(root, []string{"d", "f"}, 0)
	require.ErrorContains(t, err, "not a directory")
	_, err = Descend(root, []string{"none"}, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	made, err := Descend(root, []string{"new", "deep"}, 0o700)
	require.NoError(t, err)
	require.NoError(t, made.Close())
	require.DirExists(t, filepath.Join(dir, "new/deep"))

	directory, err := root.Lstat("d")
	require.NoError(t, err)
	file, err := root.Lstat("d/f")
	require.NoError(t, err)
	_, err = Enter(root, "other", directory)
	require.ErrorIs(t, err, ErrChanged)
	_, err = OpenFile(root, "other/f", file, os.O_RDONLY, 0)
	require.ErrorIs(t, err, ErrChanged)
	_, err = OpenFile(root, "none", file, os.O_RDONLY, 0)
	require.ErrorIs(t, err, ErrChanged)
	_, err = OpenFile(root, "link", nil, os.O_WRONLY, 0o600)
	require.True(t, errors.Is(err, fs.ErrExist), err)
}

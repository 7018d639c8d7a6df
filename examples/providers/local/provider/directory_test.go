package provider_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func TestADirectoryLives(t *testing.T) {
	p := start(t)
	inputs := pt.Object{"path": "a/b/", "directoryPermission": "0750"}
	r := p.Create(directory, inputs)
	require.Equal(t, "a/b", r.ID)
	require.Equal(t, "a/b", r.Text("path"))
	require.Equal(t, fs.ModeDir|0o750, mode(t, "a"))
	require.Equal(t, fs.ModeDir|0o750, mode(t, "a/b"))
	require.Empty(t, p.Diff(r, inputs))

	inputs = pt.Object{"path": "a/b"}
	require.Equal(t, []string{"directoryPermission update"}, p.Diff(r, inputs))
	r = p.Update(r, inputs)
	require.Equal(t, fs.ModeDir|0o755, mode(t, "a/b"))
	require.Equal(t, fs.ModeDir|0o750, mode(t, "a"))
	require.Equal(t, []string{"path update-replace"}, p.Diff(r, pt.Object{"path": "a"}))

	p.Delete(r)
	require.Equal(t, []string{"a"}, names(t))
	p.Delete(r) // it was gone already
}

func TestADirectoryThatExistsIsTakenOver(t *testing.T) {
	p := start(t)
	require.NoError(t, os.MkdirAll("a/sub", 0o700))
	r := p.Create(directory, pt.Object{"path": "a"})
	require.Equal(t, fs.ModeDir|0o755, mode(t, "a"))
	require.NoError(t, os.Remove("a/sub"))
	p.Delete(r)
	require.Empty(t, names(t))
}

func TestADirectoryIsDeletedWhenEmpty(t *testing.T) {
	p := start(t)
	r := p.Create(directory, pt.Object{"path": "a"})
	for _, name := range []string{"1", "2", "3", "4"} {
		require.NoError(t, os.WriteFile("a/"+name, nil, 0o644))
	}
	require.EqualError(t, p.TryDelete(r),
		"path: a is not empty: it holds 1, 2, 3, and more; move that away, or set force: true and run husk up before deleting the directory")

	forced := pt.Object{"path": "a", "force": true}
	require.Equal(t, []string{"force update"}, p.Diff(r, forced))
	r = p.Update(r, forced)
	require.NoError(t, os.Mkdir("outside", 0o755))
	require.NoError(t, os.WriteFile("outside/f", nil, 0o644))
	require.NoError(t, os.Symlink("../outside", "a/link"))
	p.Delete(r)
	require.Equal(t, []string{"outside", "outside/f"}, names(t), "links are not followed")
}

func TestForceIsNotForWhatWasThereBefore(t *testing.T) {
	p := start(t)
	require.NoError(t, os.Mkdir("a", 0o755))
	require.NoError(t, os.WriteFile("a/mine", nil, 0o644))
	_, err := p.TryCreate(directory, pt.Object{"path": "a", "force": true})
	require.EqualError(t, err, "force: a holds mine already, which force would delete with it one day; move that away, or leave out force")
	require.NoError(t, os.Remove("a/mine"))
	p.Create(directory, pt.Object{"path": "a", "force": true})
}

func TestARefreshFindsWhatBecameOfADirectory(t *testing.T) {
	p := start(t)
	inputs := pt.Object{"path": "a"}
	r := p.Create(directory, inputs)
	refreshed, exists := p.Refresh(r)
	require.True(t, exists)
	require.Empty(t, p.Diff(refreshed, inputs))

	require.NoError(t, os.Chmod("a", 0o700))
	refreshed, _ = p.Refresh(r)
	require.Equal(t, []string{"directoryPermission update"}, p.Diff(refreshed, inputs))

	imported, err := p.TryImport(directory, "./a")
	require.NoError(t, err)
	require.Equal(t, "a", imported.ID)
	require.Empty(t, p.Diff(imported, pt.Object{"path": "a", "directoryPermission": "0700"}))

	require.NoError(t, os.Remove("a"))
	_, exists = p.Refresh(r)
	require.False(t, exists)
	require.NoError(t, os.Symlink(t.TempDir(), "a"))
	p.Delete(r)
	require.Equal(t, []string{"a"}, names(t), "a link is not the directory")
}

func TestWhatIsNoDirectory(t *testing.T) {
	p := start(t)
	require.NoError(t, os.WriteFile("plain", nil, 0o644))
	for _, path := range []string{"plain", "plain/sub"} {
		_, err := p.TryCreate(directory, pt.Object{"path": path})
		require.ErrorContains(t, err, ": it, or a directory above it, is a file; choose another path, or move that away")
	}
	require.Equal(t, []string{"path: it is empty; expected a path, such as out/site"}, p.Failures(directory, pt.Object{"path": ""}))
	require.Len(t, p.Failures(directory, pt.Object{"path": "a", "directoryPermission": "x"}), 1)
}

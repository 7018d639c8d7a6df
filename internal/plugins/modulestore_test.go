package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/kvstore"
)

// aRun returns the plugins of a run that keeps modules in a directory.
func aRun(t *testing.T, dir string) *Plugins {
	t.Helper()
	p, err := Open(t.Context(), &program.Project{Root: projectroot.New(dir, projectroot.Trusted)}, Options{Places: Places{Cache: t.TempDir()}, Modules: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	return p
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return DigestPrefix + hex.EncodeToString(sum[:])
}

func keep(t *testing.T, p *Plugins, content string) {
	t.Helper()
	require.NoError(t, p.keep(digestOf(content), len(content), func() ([]byte, error) { return []byte(content), nil }))
}

func naming(contents ...string) func() (map[string]bool, error) {
	return func() (map[string]bool, error) {
		digests := make(map[string]bool)
		for _, content := range contents {
			digests[digestOf(content)] = true
		}
		return digests, nil
	}
}

// keptIn returns what the modules in a directory contain.
func keptIn(t *testing.T, dir string) (contents []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+moduleSuffix))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		contents = append(contents, string(content))
	}
	return contents
}

// What a run has kept and not recorded yet is not removed by others, however long it goes on. When
// it has ended, what no state names is removed.
func TestOthersLeaveWhatARunHasKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	slow, quick := aRun(t, dir), aRun(t, dir)
	keep(t, quick, "quick's")
	keep(t, slow, "slow's")
	keep(t, slow, "both's")
	keep(t, quick, "both's") // which is there already
	require.NoError(t, quick.CollectModules(naming("quick's")))
	require.ElementsMatch(t, []string{"quick's", "slow's", "both's"}, keptIn(t, dir))
	require.NoError(t, CollectModules(dir, naming()))
	require.ElementsMatch(t, []string{"slow's", "both's"}, keptIn(t, dir), "a run that collects has recorded what it needs")

	require.NoError(t, slow.Close(t.Context()))
	require.NoError(t, CollectModules(dir, naming("both's")))
	require.Equal(t, []string{"both's"}, keptIn(t, dir))
	left, err := filepath.Glob(filepath.Join(dir, claimsPattern))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A run that was killed claims nothing any more.
func TestClaimsEndWithTheirRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	keep(t, aRun(t, dir), "needed")
	dead := filepath.Join(dir, "run-dead.claims")
	require.NoError(t, os.WriteFile(dead, []byte(digestOf("left over")+"\n"), 0o600))
	keep(t, aRun(t, dir), "claimed")
	require.NoError(t, os.WriteFile(filepath.Join(dir, digestOf("left over")[len(DigestPrefix):]+moduleSuffix), []byte("left over"), 0o600))
	require.NoError(t, CollectModules(dir, naming("needed")))
	require.ElementsMatch(t, []string{"needed", "claimed"}, keptIn(t, dir))
	require.NoFileExists(t, dead)
}

// A module that is found to be kept stays until the state names it.
func TestKeptModuleIsKeptOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	first, second := aRun(t, dir), aRun(t, dir)
	there, err := second.KeepOn(t.Context(), digestOf("one"))
	require.NoError(t, err)
	require.False(t, there)
	keep(t, first, "one")
	there, err = second.KeepOn(t.Context(), digestOf("one"))
	require.NoError(t, err)
	require.True(t, there)
	require.NoError(t, first.CollectModules(naming()))
	require.Equal(t, []string{"one"}, keptIn(t, dir))
}

// Which modules a stack needs that cannot be read is not known, so none is removed.
func TestNothingIsCollectedBlindly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	p := aRun(t, dir)
	keep(t, p, "one")
	damaged := errors.New("another stack is damaged")
	require.ErrorIs(t, p.CollectModules(func() (map[string]bool, error) { return nil, damaged }), damaged)
	require.Equal(t, []string{"one"}, keptIn(t, dir))
}

// A kept module that was cut short or altered is kept anew.
func TestDamagedModuleIsKeptAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	p := aRun(t, dir)
	keep(t, p, "content")
	files, err := filepath.Glob(filepath.Join(dir, "*"+moduleSuffix))
	require.NoError(t, err)
	for _, damaged := range []string{"", "cont", "Content", "content and more"} {
		require.NoError(t, os.WriteFile(files[0], []byte(damaged), 0o600))
		keep(t, aRun(t, dir), "content")
		require.Equal(t, []string{"content"}, keptIn(t, dir), "%q", damaged)
	}
}

// A deployment is not left out if a provider has values to store, or does not load.
func TestWhatADeploymentRepeats(t *testing.T) {
	project := &program.Project{Root: projectroot.New(t.TempDir(), projectroot.Trusted), File: &source.File{Name: "Husk.yaml"}}
	open := func() *Plugins {
		p, err := Open(t.Context(), project, Options{
			Places: Places{Cache: t.TempDir()},
			Stores: func(string) (*kvstore.Store, error) { return kvstore.New(), nil },
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
		return p
	}
	p := open()
	p.Perform()
	require.True(t, p.Repeat(t.Context()))

	p = open()
	_, err := p.store("notes")
	require.NoError(t, err)
	p.Perform()
	require.False(t, p.Repeat(t.Context()))

	p = open()
	p.loaded = []engine.PackageSpec{{Name: "gone"}}
	p.Perform()
	require.False(t, p.Repeat(t.Context()))
}

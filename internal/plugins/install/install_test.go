package install_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/install"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// What another installation writes to the lock meanwhile stays, and is not replaced by a lock without it.
func TestALockThatChangesMeanwhile(t *testing.T) {
	testmodule.Skip(t)
	s := registrytest.Start()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nplugins: {providers: [{name: lab, source: 'oci://"+s.Host+"/acme/lab'}]}\n"), 0o644))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	p, err := plugins.Open(t.Context(), project, plugins.Options{Places: plugins.Places{Cache: t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.WithoutCancel(t.Context()))) })
	client, err := p.Registry(nil)
	require.NoError(t, err)
	to, err := registry.ParseReference(s.Host + "/acme/lab:1.2.3")
	require.NoError(t, err)
	_, err = client.Push(t.Context(), to, testmodule.Build(t, filepath.Join("..", "..", "..", "cmd", "husk", "testdata", "lab")), registry.Labels{Title: "lab", Version: "1.2.3"}, false, nil)
	require.NoError(t, err)

	other := &lockfile.Lock{Providers: []lockfile.Provider{{
		Name: "other", Source: "oci://registry.example.com/acme/other", Version: "1.0.0", Size: 1,
		Digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000",
	}}}
	var once sync.Once
	meanwhile := func(registry.Progress) {
		once.Do(func() {
			_, err := other.Write(project)
			require.NoError(t, err)
		})
	}
	_, err = install.Run(t.Context(), project, p, install.Options{Progress: meanwhile})
	require.ErrorContains(t, err, "husk.lock was changed by another command meanwhile")
	now, err := lockfile.Load(project)
	require.NoError(t, err)
	require.Equal(t, other.Providers, now.Providers)

	all, err := install.Run(t.Context(), project, p, install.Options{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	now, err = lockfile.Load(project)
	require.NoError(t, err)
	require.Len(t, now.Providers, 1)
	require.Equal(t, "1.2.3", now.Providers[0].Version)
}

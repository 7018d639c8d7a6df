package plugins

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/kvstore"
)

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

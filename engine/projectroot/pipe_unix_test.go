//go:build unix

package projectroot_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

// Nobody waits for the other end of a pipe in place of a file, nor reads a device.
func TestPipesAreNotWaitedFor(t *testing.T) {
	project, _ := tree(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(project, "pipe"), 0o600))
	for _, trust := range []projectroot.Trust{projectroot.Untrusted, projectroot.Trusted} {
		r := projectroot.New(project, trust)
		_, err := r.Open("pipe")
		require.ErrorIs(t, err, projectroot.ErrNotRegular)
		_, err = r.ReadFile("pipe", limit)
		require.ErrorIs(t, err, projectroot.ErrNotRegular)
		_, err = r.ReadDir("pipe")
		require.Error(t, err)
	}
	_, err := projectroot.New(project, projectroot.Untrusted).Locate("pipe")
	require.ErrorIs(t, err, projectroot.ErrNotRegular)
	_, err = projectroot.New(project, projectroot.Untrusted).OpenAny("pipe")
	require.ErrorIs(t, err, projectroot.ErrNotRegular)
	_, err = projectroot.New(project, projectroot.Trusted).ReadFile("zero", limit)
	require.ErrorIs(t, err, projectroot.ErrNotRegular)
}

package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

// Whoever loads a project does not wait for a file that does not answer once nobody wants the project.
func TestLoadingIsCancelled(t *testing.T) {
	stopped := errors.New("stopped")
	const shop = "name: shop\npackages: {pkg: ./pkg}\n"
	for name, load := range map[string]func(ctx context.Context, root *projectroot.Root) error{
		"LoadProject": func(ctx context.Context, root *projectroot.Root) error {
			_, err := LoadProject(ctx, root)
			return err
		},
		"ParseProject": func(ctx context.Context, root *projectroot.Root) error {
			_, err := ParseProject(ctx, root, "Husk.yaml", []byte(shop))
			return err
		},
		"ReadProject": func(ctx context.Context, root *projectroot.Root) error {
			_, ds := ReadProject(ctx, root, "Husk.yaml", []byte(shop))
			return ds
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "pkg"), 0o755))
			for file, text := range map[string]string{
				"Husk.yaml": shop, "pkg/PulumiPlugin.yaml": "name: pkg\nruntime: yaml\n",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			hangs, answers := make(chan struct{}), make(chan struct{})
			defer close(answers)
			// An editor's text stands for a file of a file system that hangs.
			root := projectroot.New(dir, projectroot.Untrusted).Overlay(func(path string) ([]byte, bool) {
				if filepath.Base(path) == "PulumiPlugin.yaml" {
					close(hangs)
					<-answers
				}
				return nil, false
			})
			go func() {
				<-hangs
				cancel(stopped)
			}()
			require.ErrorIs(t, load(ctx, root), stopped)
			require.ErrorIs(t, load(ctx, root), stopped, "which reads nothing")
		})
	}
}

// The files of a project are read up to the end of the context, and no further.
func TestALoadEndsBetweenFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sdks"), 0o755))
	for _, name := range []string{"sdks/a.yaml", "sdks/b.yaml", "sdks/c.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x: 1\n"), 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var read []string
	root := projectroot.New(dir, projectroot.Trusted).Overlay(func(path string) ([]byte, bool) {
		if filepath.Ext(path) == ".yaml" && filepath.Base(filepath.Dir(path)) == "sdks" {
			read = append(read, filepath.Base(path))
			cancel()
		}
		return nil, false
	})
	_, _ = decodeProject(ctx, root, "Husk.yaml", []byte("name: shop\n"), nil)
	require.Len(t, read, 1)
	read = nil
	_, _ = decodeProject(context.WithoutCancel(ctx), root, "Husk.yaml", []byte("name: shop\n"), nil)
	require.Len(t, read, 3)
}

// Package packedtest holds archives that programs embed, see package packed, to the files that they are of.
package packedtest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"flag"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/packed"
)

var update = flag.Bool("update", false, "pack the archives anew")

// RequireCurrent requires that an archive has the files below some places of a directory. With -update it becomes so.
func RequireCurrent(t *testing.T, archive, dir string, places ...string) {
	t.Helper()
	want := texts(t, os.DirFS(dir), places...)
	if *update {
		var content bytes.Buffer
		whole, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
		require.NoError(t, err)
		files := zip.NewWriter(whole)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			to, err := files.CreateHeader(&zip.FileHeader{Name: name})
			require.NoError(t, err)
			_, err = to.Write([]byte(want[name]))
			require.NoError(t, err)
		}
		require.NoError(t, files.Close())
		require.NoError(t, whole.Close())
		require.NoError(t, os.WriteFile(archive, content.Bytes(), 0o644))
	}
	content, err := os.ReadFile(archive)
	require.NoError(t, err)
	got := texts(t, packed.Open(content), ".")
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "run this test with -update")
	for name, text := range want {
		require.True(t, text == got[name], "%s has changed: run this test with -update", name)
	}
}

func texts(t *testing.T, files fs.FS, places ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, place := range places {
		require.NoError(t, fs.WalkDir(files, place, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			found[name] = string(text)
			return err
		}))
	}
	return found
}

package contents_test

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/contents"
)

// FuzzEntries reads what may be no archive at all. Whatever it is, the entries that a
// provider sees have clean names, each of which occurs once, and are regular files.
func FuzzEntries(f *testing.F) {
	for _, pairs := range [][]string{{}, {"a", "ay"}, {"./a/", "", "a/b", "bee"}, {"../up", "x"}, {"/abs", "x"}, {"a", "1", "a", "2"}} {
		f.Add(uint8(0), tarOf(f, pairs...))
		f.Add(uint8(1), gzipOf(f, tarOf(f, pairs...)))
		f.Add(uint8(2), zipOf(f, pairs...))
	}
	f.Fuzz(func(t *testing.T, format uint8, data []byte) {
		dir := t.TempDir()
		name := []string{"x.tar", "x.tgz", "x.zip"}[format%3]
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		s := contents.Source{Dir: dir}
		r := s.OpenEntries(t.Context(), packed(name))
		defer r.Close()
		bounded := io.LimitReader(r, 16<<20) // what is small can be large unpacked
		files := tar.NewReader(bounded)
		seen := make(map[string]bool)
		for {
			h, err := files.Next()
			if err != nil {
				if errors.Is(err, io.EOF) {
					_, err = io.Copy(io.Discard, bounded)
					require.NoError(t, err)
				}
				return
			}
			require.True(t, fs.ValidPath(h.Name) && h.Name != ".", "%q", h.Name)
			require.False(t, seen[h.Name], "%q", h.Name)
			require.Equal(t, byte(tar.TypeReg), h.Typeflag)
			seen[h.Name] = true
		}
	})
}

package guestsdk_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"io"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	guestsdk "github.com/husk-dev/husk/guest-sdk"
)

var update = flag.Bool("update", false, "pack the sources of the SDKs anew")

// The program has the SDKs as they are.
func TestTheSourcesAreCurrent(t *testing.T) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	want := map[string]string{}
	for _, place := range []string{"c/husk.c", "c/husk.h", "rust/Cargo.toml", "rust/src"} {
		require.NoError(t, fs.WalkDir(os.DirFS("."), place, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			want[name] = string(text)
			to, err := w.Create(name)
			require.NoError(t, err)
			_, err = to.Write(text)
			return err
		}))
	}
	require.NoError(t, w.Close())
	if *update {
		require.NoError(t, os.WriteFile("sources.zip", packed.Bytes(), 0o644))
		return
	}
	got := map[string]string{}
	for _, language := range []string{"c", "rust"} {
		files := guestsdk.In(language)
		require.NoError(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			got[path.Join(language, name)] = string(text)
			return err
		}))
	}
	require.Equal(t, want, got, "go test ./guest-sdk -update")
	entries, err := fs.ReadDir(guestsdk.In("typescript"), ".")
	require.NoError(t, err)
	require.Empty(t, entries)
}

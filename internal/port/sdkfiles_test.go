package port

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the SDK that the program has")

// maxSDK bounds what the SDK adds to the program, in bytes.
const maxSDK = 250_000

// The program has the SDK and the adapters as the checkout has them: go test ./internal/port -run TestTheSDKOfTheProgram -update.
func TestTheSDKOfTheProgram(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	want := map[string]map[string][]byte{}
	for _, k := range kinds {
		if k.adapter == "" {
			continue
		}
		dir := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(k.adapter, project+"/")))
		c := sdkCopy{husk: root, adapter: dir, module: k.adapter, to: t.TempDir(), copied: map[string]bool{}, sources: map[string][]byte{}}
		require.NoError(t, c.copyAll(k.packages))
		for name, text := range c.sources {
			at := slices.IndexFunc(sdkArchives, func(a struct{ name, prefix string }) bool { return strings.HasPrefix(name, a.prefix) })
			require.GreaterOrEqual(t, at, 0, "%s is in no archive", name)
			archive := sdkArchives[at].name
			if want[archive] == nil {
				want[archive] = map[string][]byte{}
			}
			want[archive][name] = text
		}
	}
	size := 0
	for _, a := range sdkArchives {
		file := filepath.Join("sdk", a.name+".tar.gz")
		if *update {
			require.NoError(t, os.WriteFile(file, packed(t, want[a.name]), 0o644))
		}
		archive, err := os.ReadFile(file)
		require.NoError(t, err)
		size += len(archive)
		got := map[string][]byte{}
		require.NoError(t, unpackSDK(archive, func(name string, text []byte) error {
			got[name] = text
			return nil
		}))
		for name, text := range want[a.name] {
			require.True(t, bytes.Equal(text, got[name]), "%s is not as the program has it: run the test with -update", name)
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(want[a.name])), slices.Collect(maps.Keys(got)))
	}
	require.Less(t, size, maxSDK)
}

func packed(t *testing.T, files map[string][]byte) []byte {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	require.NoError(t, err)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := archive.Write(files[name])
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// What the program has of the SDK is what a copy of the checkout makes: the same port is the same module.
func TestAPortWithTheSDKOfTheProgram(t *testing.T) {
	b := &porter{dir: t.TempDir()}
	dir, err := b.embeddedSDK()
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	inside := filepath.FromSlash(strings.TrimPrefix(terraformAdapter, project+"/"))
	var copies [2]string
	for i, from := range []string{root, dir} {
		copies[i] = t.TempDir()
		c := sdkCopy{husk: from, adapter: filepath.Join(from, inside), module: terraformAdapter, to: copies[i], copied: map[string]bool{}}
		require.NoError(t, c.copyAll([]string{"tf5", "tf6"}))
	}
	for i, from := range copies {
		require.NoError(t, filepath.WalkDir(from, func(at string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			rel, err := filepath.Rel(from, at)
			require.NoError(t, err)
			one, err := os.ReadFile(at)
			require.NoError(t, err)
			other, err := os.ReadFile(filepath.Join(copies[1-i], rel))
			require.NoError(t, err)
			require.Equal(t, string(one), string(other), rel)
			return nil
		}))
	}
}

// Without its comments a file has the same code at the same lines.
func TestSourceWithoutComments(t *testing.T) {
	got := withoutComments([]byte("// Package a.\npackage a\n\n//go:embed x\nvar x /* the\nfiles */ string // of x\n\nconst y = \"// no comment\"\n"))
	require.Equal(t, "\npackage a\n\n//go:embed x\nvar x\n string\n\nconst y = \"// no comment\"\n", string(got))
}

package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// project writes a project with providers, as YAML lists them, and loads it.
func project(t *testing.T, dir, providers string) *program.Project {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	text := "name: demo\nruntime: yaml\nplugins: {providers: [" + providers + "]}\nresources: {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o644))
	p, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	return p
}

// unpack writes the files of a bundle with a digest.
func unpack(content []byte, digest, dir string) error {
	var archive bytes.Buffer
	if _, err := bundle.Decompress(io.Discard, bytes.NewReader(content), digest); err != nil {
		return err // which some are too large for a test to keep
	}
	if _, err := bundle.Decompress(&archive, bytes.NewReader(content), digest); err != nil {
		return err
	}
	return bundle.Extract(&archive, dir)
}

// A bundle has the project, the modules beside it, and what was built of source.
func TestABundleTravels(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(top, "beside.wasm"), []byte("beside"), 0o644))
	source := filepath.Join(top, "shop", "greet")
	require.NoError(t, os.MkdirAll(source, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(source, "main.go"), []byte("package main"), 0o644))
	p := project(t, filepath.Join(top, "shop"), "{name: beside, path: ../beside.wasm}, {name: greet, path: greet}")
	for _, name := range []string{".husk", ".HUSK", ".jj", ".git"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, "shop", "sub", name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, "shop", "sub", name, "secret"), []byte("secret"), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(top, "shop", ".husk"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, "shop", ".husk", "secret"), []byte("secret"), 0o644))
	build := func(dir string) ([]byte, error) {
		require.Equal(t, source, dir)
		return []byte("built"), nil
	}
	var content, again bytes.Buffer
	info, err := bundle.Pack(&content, p, build)
	require.NoError(t, err)
	require.Equal(t, "shop", info.Project)
	same, err := bundle.Pack(&again, p, build)
	require.NoError(t, err)
	require.Equal(t, info.Digest, same.Digest)

	to := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.MkdirAll(to, 0o755))
	require.NoError(t, unpack(content.Bytes(), info.Digest, to))
	for name, want := range map[string]string{"beside.wasm": "beside", "shop/greet": "built"} {
		got, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoFileExists(t, filepath.Join(to, "shop", ".husk", "secret"))
	require.NoDirExists(t, filepath.Join(to, "shop", "sub"))

	changed := bytes.Clone(content.Bytes())
	changed[len(changed)/2] ^= 1
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.MkdirAll(other, 0o755))
	require.Error(t, unpack(changed, info.Digest, other))
}

// Of a program in source travels the module.
func TestAProgramTravels(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "program")
	require.NoError(t, os.Mkdir(source, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(source, "main.go"), []byte("package main"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nruntime: wasm\nmain: program\n"), 0o644))
	p, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	var content bytes.Buffer
	info, err := bundle.Pack(&content, p, func(string) ([]byte, error) { return []byte("built"), nil })
	require.NoError(t, err)
	to := t.TempDir()
	require.NoError(t, unpack(content.Bytes(), info.Digest, to))
	got, err := os.ReadFile(filepath.Join(to, "program"))
	require.NoError(t, err)
	require.Equal(t, "built", string(got))
}

// A path of this machine means nothing elsewhere.
func TestPathsOfThisMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.wasm")
	require.NoError(t, os.WriteFile(file, []byte("lab"), 0o644))
	p := project(t, t.TempDir(), "{name: lab, path: '"+file+"'}")
	_, err := bundle.Pack(&bytes.Buffer{}, p, nil)
	require.ErrorContains(t, err, "Husk.yaml lists the module "+file+" by its path on this machine")
}

// entry is a file of a bundle that somebody else has made.
type entry struct {
	name, link, content string
	kind                byte
}

// pack makes a bundle of entries, and of what follows them.
func pack(t *testing.T, after int, entries ...entry) ([]byte, string) {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Linkname: e.link, Size: int64(len(e.content)), Mode: 0o4777, Typeflag: e.kind, Format: tar.FormatPAX}
		if e.kind == 0 {
			header.Typeflag = tar.TypeReg
			if e.link != "" {
				header.Typeflag = tar.TypeSymlink
			}
		}
		require.NoError(t, archive.WriteHeader(header))
		_, err := archive.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	zeros := make([]byte, 1<<20)
	for range after {
		_, err := compressed.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, compressed.Close())
	sum := sha256.Sum256(out.Bytes())
	return out.Bytes(), "sha256:" + hex.EncodeToString(sum[:])
}

// Nothing of a bundle leads out of its directory, nor is more than its limits, whoever has made it.
func TestHostileBundles(t *testing.T) {
	for what, c := range map[string]struct {
		entries []entry
		after   int
		large   bool
		wrong   string
	}{
		"what is right":              {entries: []entry{{name: "a/b/up", link: "../../c"}, {name: "c/file", content: "x"}, {name: "through", link: "a/b/up/file"}, {name: "none", link: "a/none"}}},
		"a name above":               {entries: []entry{{name: "../x"}}, wrong: "it has the name"},
		"an absolute name":           {entries: []entry{{name: "/etc/x"}}, wrong: "it has the name"},
		"a name of Windows":          {entries: []entry{{name: `a\..\..\x`}}, wrong: "it has the name"},
		"a long name":                {entries: []entry{{name: strings.Repeat("x", 5000)}}, wrong: "it has the name"},
		"a link above":               {entries: []entry{{name: "a/x", link: "../../y"}}, wrong: "neither a file nor a link in it"},
		"an absolute link":           {entries: []entry{{name: "x", link: "/etc/passwd"}}, wrong: "neither a file nor a link in it"},
		"a link through a link":      {entries: []entry{{name: "a/b/top", link: "../.."}, {name: "x", link: "a/b/top/../outside"}}, wrong: "the link x leads outside"},
		"the same, in another order": {entries: []entry{{name: "x", link: "a/b/top/../outside"}, {name: "a/b/top", link: "../.."}}, wrong: "the link x leads outside"},
		"a link to where it is not":  {entries: []entry{{name: "a/b/top", link: "../.."}, {name: "a/b/top/x", link: "../../../outside"}}, wrong: "it has files below the link a/b/top"},
		"a file below a link":        {entries: []entry{{name: "a", link: "b"}, {name: "b/x"}, {name: "a/y"}}, wrong: "it has files below the link a"},
		"a name twice":               {entries: []entry{{name: "x"}, {name: "x"}}, wrong: "file exists"},
		"a file in place of a link":  {entries: []entry{{name: "x", link: "y"}, {name: "x", content: "z"}}, wrong: "file exists"},
		"a device":                   {entries: []entry{{name: "x", kind: tar.TypeChar}}, wrong: "neither a file nor a link"},
		"a pipe":                     {entries: []entry{{name: "x", kind: tar.TypeFifo}}, wrong: "neither a file nor a link"},
		"a hard link":                {entries: []entry{{name: "x", kind: tar.TypeLink, link: "../y"}}, wrong: "neither a file nor a link"},
		"what follows":               {large: true, after: 1400, wrong: "it has more than 1280 MiB before it is compressed"},
		"long headers":               {entries: []entry{{name: strings.Repeat("x", 70_000)}}, wrong: "the headers of a file have more than 64 KiB"},
		"long names of links":        {large: true, entries: longLinks(2_400), wrong: "the names of its directories and links have more than 8 MiB"},
		"a deep name":                {large: true, entries: []entry{{name: strings.Repeat("d/", 1000) + "x"}}},
	} {
		t.Run(what, func(t *testing.T) {
			if testing.Short() && c.large {
				t.Skip("packs what is large, or makes a thousand directories")
			}
			content, digest := pack(t, c.after, c.entries...)
			top := t.TempDir()
			to := filepath.Join(top, "to")
			require.NoError(t, os.Mkdir(to, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(top, "outside"), []byte("canary"), 0o600))
			err := unpack(content, digest, to)
			outside, readErr := os.ReadDir(top)
			require.NoError(t, readErr)
			require.Len(t, outside, 2)
			if c.wrong != "" {
				require.ErrorIs(t, err, bundle.ErrInvalid)
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
		})
	}
}

// longLinks are links whose names have 3,800 bytes.
func longLinks(n int) (all []entry) {
	for i := range n {
		all = append(all, entry{name: strings.Repeat(strings.Repeat("x", 200)+"/", 19) + strconv.Itoa(i), link: "x"})
	}
	return all
}

// Directories are bounded as well: a few bytes make many.
func TestBundlesOfDirectories(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of directories")
	}
	var entries []entry
	for i := range 1 << 13 {
		entries = append(entries, entry{name: strconv.Itoa(i) + "/d/x"})
	}
	content, digest := pack(t, 0, append(entries, entry{name: "more/x"})...)
	err := unpack(content, digest, t.TempDir())
	require.ErrorIs(t, err, bundle.ErrInvalid)
	require.ErrorContains(t, err, "it has more than 16384 directories")
}

// What a project that is not trusted names elsewhere is not packed: who sends it would send files of its own, and a worker would
// take them for the project's.
func TestAStrangersBundleHasOnlyItsOwn(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(top, "id_rsa"), []byte("canary"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "keys"), 0o700))
	dir := filepath.Join(top, "shop")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for what, text := range map[string]string{
		"a module":            "plugins: {providers: [{name: x, path: ../id_rsa}]}\n",
		"source":              "plugins: {providers: [{name: x, path: ../keys}]}\n",
		"a policy pack":       "policies: [../id_rsa]\n",
		"what is not there":   "plugins: {providers: [{name: x, path: ../nothing}]}\n",
		"a link":              "plugins: {providers: [{name: x, path: link}]}\n",
		"by way of a project": "plugins: {providers: [{name: x, path: ../shop/../id_rsa}]}\n",
	} {
		link := filepath.Join(dir, "link")
		_ = os.Remove(link)
		if what == "a link" {
			require.NoError(t, os.Symlink("../id_rsa", link))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nruntime: yaml\n"+text+"resources: {}\n"), 0o600))
		for _, trust := range []projectroot.Trust{projectroot.Untrusted, projectroot.Trusted} {
			var content bytes.Buffer
			p, err := program.LoadProject(t.Context(), projectroot.New(dir, trust))
			if err == nil {
				_, err = bundle.Pack(&content, p, func(string) ([]byte, error) {
					require.Equal(t, projectroot.Trusted, trust, "it is not built")
					return nil, errors.New("it is not built")
				})
			}
			if trust == projectroot.Untrusted {
				require.ErrorContains(t, err, "the project is not trusted", what)
			} else if what == "a module" {
				require.NoError(t, err, "the user's own is packed")
			}
		}
	}
}

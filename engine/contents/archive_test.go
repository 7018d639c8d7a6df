package contents_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// tarOf and zipOf make archive files of pairs of names and contents. A name that ends
// with a slash is a directory's.
func tarOf(t testing.TB, pairs ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: pairs[i], Mode: 0o755, Size: int64(len(pairs[i+1]))}))
		_, err := io.WriteString(w, pairs[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, pairs ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, pairs[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// filesIn reads a tar file into lines of names and contents.
func filesIn(r io.Reader) (lines []string, err error) {
	files := tar.NewReader(r)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return lines, err
		}
		lines = append(lines, h.Name+": "+string(data))
	}
}

func entriesOf(t *testing.T, s contents.Source, a property.Archive) ([]string, error) {
	r := s.OpenEntries(t.Context(), a)
	defer func() { require.NoError(t, r.Close()) }()
	return filesIn(r)
}

func remote(url string) property.Archive {
	return property.Archive{Source: property.SourceURI, URI: url}
}

func TestEntriesOfEachKindOfArchive(t *testing.T) {
	dir := t.TempDir()
	pairs := []string{"./sub/", "", "./sub/b", "bee", "a", "ay"}
	write(t, dir, map[string]string{
		"x.tar": string(tarOf(t, pairs...)), "x.zip": string(zipOf(t, "a", "ay", "sub/", "", "sub/b", "bee")),
		"x.tgz": string(gzipOf(t, tarOf(t, pairs...))), "x.tar.gz": string(gzipOf(t, tarOf(t, pairs...))),
		"dir/a": "ay", "dir/sub/b": "bee", "dir/.husk/state": "not this", "dir/sub/.husk/state": "not this", "dir/.pulumi/state": "not this", "dir/sub/.pulumi": "nor this",
		"elsewhere/e": "else",
	})
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere", "e"), filepath.Join(dir, "dir", "link")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "dir", "linked")))
	require.NoError(t, os.Symlink("dir", filepath.Join(dir, "linkdir")))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	s := contents.Source{Dir: dir, Fetch: contents.HTTP(nil)}

	for name, tc := range map[string]struct {
		archive property.Archive
		want    []string
	}{
		"tar":                 {packed("x.tar"), []string{"sub/b: bee", "a: ay"}},
		"tgz":                 {packed("x.tgz"), []string{"sub/b: bee", "a: ay"}},
		"tar.gz":              {packed("x.tar.gz"), []string{"sub/b: bee", "a: ay"}},
		"zip":                 {packed("x.zip"), []string{"a: ay", "sub/b: bee"}},
		"remote tar":          {remote(server.URL + "/x.tar?a=b"), []string{"sub/b: bee", "a: ay"}},
		"remote tgz":          {remote(server.URL + "/x.tgz"), []string{"sub/b: bee", "a: ay"}},
		"remote zip":          {remote(server.URL + "/x.zip"), []string{"a: ay", "sub/b: bee"}},
		"file URL":            {remote("file://" + filepath.ToSlash(dir) + "/x.zip"), []string{"a: ay", "sub/b: bee"}},
		"directory":           {packed("dir"), []string{"a: ay", "link: else", "sub/b: bee"}},
		"link to a directory": {packed("linkdir"), []string{"a: ay", "link: else", "sub/b: bee"}},
		"literal, sorted by name": {literal(map[string]any{
			"zz": text("zed"), "/abs": text("absolute"), "./m": literal(map[string]any{"deep": packed("x.zip"), "t": text("tee")}),
			"remote": property.Asset{Source: property.SourceURI, URI: server.URL + "/dir/a"},
		}), []string{"m/deep/a: ay", "m/deep/sub/b: bee", "m/t: tee", "abs: absolute", "remote: ay", "zz: zed"}},
		"the first of a name": {literal(map[string]any{"./foo": packed("dir"), "./foo/sub": packed("dir/sub")}),
			[]string{"foo/a: ay", "foo/link: else", "foo/sub/b: bee"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := entriesOf(t, s, tc.archive)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestArchivesAreMadeInEachFormat(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"x.tar": string(tarOf(t, "a", "ay")), "x.zip": string(zipOf(t, "a", "ay")), "x.tgz": string(gzipOf(t, tarOf(t, "a", "ay"))),
		"dir/a": "ay",
	})
	s := contents.Source{Dir: dir}
	read := func(a property.Archive, format contents.Format) []byte {
		r, hashed, err := s.OpenArchive(t.Context(), a, format)
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		if hashed {
			hash, err := s.HashArchive(t.Context(), a)
			require.NoError(t, err)
			again, err := s.HashAsset(t.Context(), text(string(data)))
			require.NoError(t, err)
			require.Equal(t, hash, again)
		}
		return data
	}
	for name, format := range map[string]contents.Format{"x.tar": contents.Tar, "x.zip": contents.Zip, "x.tgz": contents.TarGzip} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, whole, read(packed(name), format), "a file of the format is read as it is")
		for _, a := range []property.Archive{packed("x.tar"), packed("x.zip"), packed("x.tgz"), packed("dir"), literal(map[string]any{"a": text("ay")})} {
			write(t, dir, map[string]string{"again-" + name: string(read(a, format))})
			got, err := entriesOf(t, s, packed("again-"+name))
			require.NoError(t, err)
			require.Equal(t, []string{"a: ay"}, got)
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	link := tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	var linked bytes.Buffer
	w := tar.NewWriter(&linked)
	require.NoError(t, w.WriteHeader(&link))
	require.NoError(t, w.Close())
	whole := zipOf(t, "a", strings.Repeat("ay", 1000))
	write(t, dir, map[string]string{
		"up.tar": string(tarOf(t, "../up", "x")), "up.zip": string(zipOf(t, "a/../../up", "x")), "root.tar": string(tarOf(t, "/etc/passwd", "x")),
		"back.zip": string(zipOf(t, `..\up`, "x")), "link.tar": linked.String(), "cut.zip": string(whole[:len(whole)/2]),
		"cut.tar": string(tarOf(t, "a", "ay")[:513]), "no.tgz": "no gzip", "no.zip": "no zip", "text.txt": "x",
	})
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := contents.Source{Dir: dir, Fetch: contents.HTTP(nil)}
	for name, tc := range map[string]struct {
		archive property.Archive
		want    string
	}{
		"a name that leads up":           {packed("up.tar"), `an entry named "../up"`},
		"one in a zip file":              {packed("up.zip"), `an entry named "a/../../up"`},
		"one with backslashes":           {packed("back.zip"), `an entry named "..\\up"`},
		"an absolute name":               {packed("root.tar"), `an entry named "/etc/passwd"`},
		"a member that leads up":         {literal(map[string]any{"a/../../b": text("x")}), "leads out of the archive"},
		"a link":                         {packed("link.tar"), "is a link or device"},
		"half a zip file":                {packed("cut.zip"), "not a whole zip file"},
		"half a tar file":                {packed("cut.tar"), "unexpected EOF"},
		"no gzip":                        {packed("no.tgz"), "not a gzipped tar file"},
		"no zip":                         {packed("no.zip"), "not a whole zip file"},
		"no archive":                     {packed("text.txt"), "neither a directory nor a file whose name ends with"},
		"nothing":                        {packed("missing"), "there is no file"},
		"no file":                        {packed("missing.zip"), "there is no file"},
		"a member that does not exist":   {literal(map[string]any{"a": file("missing")}), `"a": there is no file`},
		"a member that is a directory":   {literal(map[string]any{"a": file(".")}), "is a directory: make it an archive"},
		"elided contents":                {property.Archive{Hash: "1f"}, contents.ErrElided.Error()},
		"a server that does not have it": {remote(server.URL + "/x.zip?token=hunter2"), "/x.zip: the server answered 404"},
		"a URL without a format":         {remote(server.URL + "/x"), "must end with one of .tar"},
		"another scheme":                 {remote("ftp://host/x.zip"), `scheme "ftp"`},
		"a file of another machine":      {remote("file://host/x.zip"), "to a file of this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := entriesOf(t, s, tc.archive)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestContentsThatChangedAreNotedAtTheirEnd(t *testing.T) {
	s := contents.Source{}
	hash, err := s.HashAsset(t.Context(), text("before"))
	require.NoError(t, err)
	for data, want := range map[string]string{"before": "", "after": "the contents have changed"} {
		r, err := s.OpenAsset(t.Context(), text(data))
		require.NoError(t, err)
		_, err = io.ReadAll(contents.Verify(r, hash))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := contents.Source{}.OpenEntries(ctx, literal(map[string]any{"a": text(strings.Repeat("x", 1<<20))}))
	_, err := io.ReadFull(r, make([]byte, 1000))
	require.NoError(t, err)
	cancel(errors.New("enough"))
	_, err = io.Copy(io.Discard, r)
	require.ErrorContains(t, err, "enough")
	require.NoError(t, r.Close())
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestDownloadsAreBounded(t *testing.T) {
	s := contents.Source{Fetch: func(context.Context, contents.Remote) (io.ReadCloser, error) { return io.NopCloser(endless{}), nil }}
	r, err := s.OpenAsset(t.Context(), property.Asset{Source: property.SourceURI, URI: "http://host/x"})
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, r)
	require.ErrorContains(t, err, "http://host/x is larger than can be read")
	require.LessOrEqual(t, n, int64(contents.MaxDownload))
}

func TestBombsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("makes archives of hundreds of megabytes")
	}
	dir := t.TempDir()
	var many bytes.Buffer
	z := gzip.NewWriter(&many)
	w := tar.NewWriter(z)
	for range contents.MaxEntries + 1 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "d/", Typeflag: tar.TypeDir}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	var large bytes.Buffer
	w = tar.NewWriter(&large)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "a", Size: contents.MaxBytes + 1}))
	write(t, dir, map[string]string{"many.tgz": many.String(), "large.tar": large.String()})
	s := contents.Source{Dir: dir}
	_, err := entriesOf(t, s, packed("many.tgz"))
	require.ErrorContains(t, err, "more than 262144 entries")
	_, err = entriesOf(t, s, packed("large.tar"))
	require.ErrorContains(t, err, "more than 5368709120 bytes together")
	deep := literal(nil)
	for range contents.MaxDepth {
		deep = literal(map[string]any{"d": deep})
	}
	_, err = entriesOf(t, s, deep)
	require.ErrorContains(t, err, "nested more than 32 deep")
}

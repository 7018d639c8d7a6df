package contents_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/projectroot"
)

// foreignProject is a project with files that a provider may name, and others. All that it reads is
// foreign, and the program wrote named of it.
func foreignProject(t *testing.T, named string) (source contents.Source, root string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links and paths are written as on Unix")
	}
	root = t.TempDir()
	for _, name := range []string{
		"outside/secret", "outside/dir/secret", "project/infra/f", "project/dist/app", "project/dist/deep/f",
		"project/.husk/stacks/dev.json", "project/Husk.yaml", "project/Husk.dev.yaml", "project/.git/config",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
	}
	for link, target := range map[string]string{
		"project/up": "../outside/secret", "project/abs": filepath.Join(root, "outside/secret"), "project/dir": "../outside/dir",
		"project/fine": "dist/app", "project/state": ".husk", "project/own": "Husk.yaml", "project/gone": "nowhere", "project/chain": "dir",
		"project/alias": "dist",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	project := filepath.Join(root, "project")
	return contents.Source{
		Dir: filepath.Join(project, "infra"), Within: project,
		Withheld: []string{filepath.Join(project, ".husk"), filepath.Join(project, "Husk.yaml"), filepath.Join(project, "Husk.*.yaml"), filepath.Join(project, ".git")},
		Foreign:  func(contents.Place) (string, bool) { return named, true },
	}, root
}

func readForeign(t *testing.T, s contents.Source, path string) (string, error) {
	read := func(r io.ReadCloser, err error) (string, error) {
		if err != nil {
			return "", err
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		return string(data), err
	}
	text, err := read(s.OpenAsset(t.Context(), property.Asset{Source: property.SourcePath, Path: path}))
	again, errAgain := read(s.OpenForeign(path))
	require.Equal(t, text, again)
	require.Equal(t, err == nil, errAgain == nil, path)
	return text, err
}

func TestForeignFilesAreThoseOfTheProject(t *testing.T) {
	s, root := foreignProject(t, "")
	for path, want := range map[string]string{
		"f": "project/infra/f", "./f": "project/infra/f", "../dist/app": "project/dist/app", "../fine": "project/dist/app",
		"../dist/../dist/deep/f": "project/dist/deep/f", "../alias/deep/f": "project/dist/deep/f",
		filepath.Join(root, "project/dist/app"): "project/dist/app",
	} {
		text, err := readForeign(t, s, path)
		require.NoError(t, err, path)
		require.Equal(t, want, text)
	}
	const outside = "it is outside of the directory of the project, or belongs to the project itself: write the path in the program, or take it from the configuration"
	for path, want := range map[string]string{
		"../../outside/secret": outside, "/etc/passwd": outside, "../..": outside, "../../outside/none": outside,
		filepath.Join(root, "outside/secret"): outside, "../dist/../../outside/secret": outside,
		"../up": outside, "../abs": outside, "../dir/secret": outside, "../chain/secret": outside, "../gone": outside,
		"../.husk/stacks/dev.json": outside, "../state/stacks/dev.json": outside, "../Husk.yaml": outside, "../HUSK.yaml": "there is no file",
		"../own": outside, "../Husk.dev.yaml": outside, "../.git/config": outside, "../dist/../.husk/stacks/dev.json": outside,
		"none": "there is no file none", "..": "it is not a regular file", "../dist": "it is not a regular file", "": "it is not a regular file",
	} {
		_, err := readForeign(t, s, path)
		require.ErrorContains(t, err, want, path)
	}
}

// What a program that is not trusted writes is refused for that, and not as if somebody else had chosen it.
func TestWhatAnUntrustedProjectIsTold(t *testing.T) {
	s, root := foreignProject(t, "")
	s.Root = projectroot.New(filepath.Join(root, "project"), projectroot.Untrusted)
	s.Foreign = func(contents.Place) (string, bool) { return "", true }
	s.Fetch = contents.HTTP(nil)
	const advice = "or, if you trust the project, run it without --untrusted-project, or at a worker with --trusted"
	for want, a := range map[string]property.Asset{
		"../../outside/secret is not read: the project is not trusted, and it is outside of the directory of the project":              {Source: property.SourcePath, Path: "../../outside/secret"},
		"its URL names a file, and the project is not trusted: use fn::fileAsset or fn::fileArchive with a path":                       {Source: property.SourceURI, URI: "file:///etc/passwd"},
		"127.0.0.1 is this machine, and the project is not trusted, so that its URLs lead to the Internet alone: use fn::fileAsset or": {Source: property.SourceURI, URI: "http://127.0.0.1:1/x"},
	} {
		_, err := s.OpenAsset(t.Context(), a)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, advice)
		require.NotContains(t, err.Error(), "choose")
		require.NotContains(t, err.Error(), "chosen")
	}
	_, err := s.HashArchive(t.Context(), property.Archive{Source: property.SourcePath, Path: "../../outside"})
	require.ErrorContains(t, err, "../../outside is not read: the project is not trusted")
}

func TestForeignDirectoriesAreThoseOfTheProject(t *testing.T) {
	s, root := foreignProject(t, "")
	archive := func(path string) ([]string, error) {
		_, err := s.HashArchive(t.Context(), property.Archive{Source: property.SourcePath, Path: path})
		if err != nil {
			return nil, err
		}
		return namesIn(t, s, property.Archive{Source: property.SourcePath, Path: path}), nil
	}
	names, err := archive("../dist")
	require.NoError(t, err)
	require.Equal(t, []string{"app", "deep/f"}, names)
	names, err = archive("../alias")
	require.NoError(t, err)
	require.Equal(t, []string{"app", "deep/f"}, names)
	for _, path := range []string{"../..", "../../outside", "../dir", "../chain", "/etc", filepath.Join(root, "outside"), "../.husk", "../state", "../.git", "../state/stacks"} {
		_, err := archive(path)
		require.ErrorContains(t, err, "it is outside of the directory of the project", path)
	}
	_, err = archive("..")
	require.ErrorContains(t, err, "abs was not chosen by the program, and it is outside", "a link in it leads out")
	for _, link := range []string{"up", "abs", "gone", "own"} {
		require.NoError(t, os.Remove(filepath.Join(root, "project", link)))
	}
	names, err = archive("..")
	require.NoError(t, err)
	require.Equal(t, []string{"dist/app", "dist/deep/f", "fine", "infra/f"}, names, "what belongs to the project is left out")
}

// namesIn are the names of an archive's files.
func namesIn(t *testing.T, s contents.Source, a property.Archive) (names []string) {
	lines, err := entriesOf(t, s, a)
	require.NoError(t, err)
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ": ")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A file that a link takes the place of is not followed out.
func TestForeignFilesThatAreReplaced(t *testing.T) {
	s, root := foreignProject(t, "")
	file := filepath.Join(root, "project/dist/app")
	r, err := s.OpenAsset(t.Context(), property.Asset{Source: property.SourcePath, Path: "../dist/app"})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Symlink("../../outside/secret", file))
	_, err = s.OpenAsset(t.Context(), property.Asset{Source: property.SourcePath, Path: "../dist/app"})
	require.ErrorContains(t, err, "it is outside of the directory of the project")
}

func TestForeignURLs(t *testing.T) {
	var asked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/new", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere.URL+"/x", http.StatusFound)
		case "/name":
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)+"/x", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/ever":
			http.Redirect(w, r, "/ever", http.StatusFound)
		default:
			io.WriteString(w, "body of "+r.URL.Path)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	byName := strings.Replace(host, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		// foreign is what the program wrote up to the first foreign part; * for a URL that is its own.
		uri, foreign, want string
	}{
		{"http://" + host + "/a", "*", "body of /a"},
		{"http://" + byName + "/a", "*", "body of /a"},
		{"http://" + host + "/moved", "*", "body of /new"},
		{"http://" + host + "/away", "*", "127.0.0.1 is this machine, and the program has not named it: the server has redirected there"},
		{"http://" + host + "/name", "*", "localhost leads to 127.0.0.1, which is this machine, and the program has not named it"},
		{"http://" + host + "/file", "*", "unsupported protocol scheme"},
		{"http://" + host + "/ever", "*", "redirected more than 10 times"},

		{"http://" + host + "/a", "", "127.0.0.1 is this machine, and the program did not choose the URL: write its scheme and host in the program"},
		{"http://" + byName + "/a", "", "which is this machine, and the program did not choose the URL"},
		{"http://[::1]:1/a", "", "::1 is this machine"},
		{"http://169.254.169.254/latest/meta-data/", "", "169.254.169.254 is link-local, where clouds keep the credentials"},
		{"http://168.63.129.16/", "", "168.63.129.16 is where clouds keep the credentials"},
		{"http://10.0.0.1/", "", "10.0.0.1 is in a private network"},
		{"http://0.0.0.0:1/", "", "0.0.0.0 is this machine"},
		{"http://[::ffff:127.0.0.1]:1/", "", "127.0.0.1, which is this machine"},
		{"file:///etc/passwd", "", "its URL names a file, and the program did not choose it"},
		{"file://localhost/etc/passwd", "file://localhost/", "its URL names a file, and the program did not choose it"},
		{"ftp://" + host + "/a", "", "which must be http, https, or file"},

		// The program wrote the whole host, and somebody else the rest.
		{"http://" + host + "/a", "http://" + host + "/", "body of /a"},
		{"http://" + host + "/a", "http://" + host + "/a", "body of /a"},
		{"http://" + host + "/moved", "http://" + host + "/mo", "body of /new"},
		{"http://" + host + "/away", "http://" + host + "/", "127.0.0.1 is this machine, and the program has not named it: the server has redirected there"},
		// The beginning of a host is not the host.
		{"http://" + host + "/a", "http://" + host, "127.0.0.1 is this machine"},
		{"http://" + host + "/a", "http://127.0.0.1", "127.0.0.1 is this machine"},
		{"http://" + host + "/a", "http://", "127.0.0.1 is this machine"},
		{"http://" + host + "/a", "http://other.example.org/", "127.0.0.1 is this machine"},
		{"http://u@" + host + "/a", "http://u@", "127.0.0.1 is this machine"},
	} {
		asked = nil
		s := contents.Source{Fetch: contents.HTTP(nil)}
		if c.foreign != "*" {
			s.Foreign = func(contents.Place) (string, bool) { return c.foreign, true }
		}
		r, err := s.OpenAsset(t.Context(), property.Asset{Source: property.SourceURI, URI: c.uri})
		if !strings.HasPrefix(c.want, "body of ") {
			require.ErrorContains(t, err, c.want, c.uri)
			require.NotContains(t, asked, "/x")
			require.LessOrEqual(t, len(asked), 10)
			continue
		}
		require.NoError(t, err, c)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, c.want, string(body))
	}
}

// However a URL is written, it leads neither to this machine nor to a file.
func TestForeignURLsInOtherSpellings(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	s := contents.Source{Fetch: contents.HTTP(nil), Foreign: func(contents.Place) (string, bool) { return "", true }}
	for _, uri := range []string{
		"http://127.1:PORT/", "http://127.0.1:PORT/", "http://2130706433:PORT/", "http://0x7f000001:PORT/", "http://0x7f.1:PORT/", "http://0177.0.0.1:PORT/",
		"http://127.0.0.1.:PORT/", "http://127.0.0.01:PORT/", "http://127.255.255.254:PORT/", "http://0:PORT/", "http://[::]:PORT/",
		"HTTP://LOCALHOST:PORT/", "http://localhost.:PORT/", "http://LocalHost.localdomain:PORT/", "http://a.localhost:PORT/", "http://ip6-localhost:PORT/",
		"http://[::ffff:7f00:1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::1%25lo]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[64:ff9b::7f00:1]:PORT/",
		"http://[2002:7f00:1::]:PORT/", "http://u:p@127.0.0.1:PORT/", "http://example.org@127.0.0.1:PORT/", "http://127.0.0.1:PORT#@example.org/",
		"http://127.0.0.1:PORT?@example.org/", "http://\u2460\u2461\u2466.0.0.1:PORT/", "http://127\u30020\u30020\u30021:PORT/", "http://127.0.0.1%00:PORT/",
		"http:127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "http:\\\\127.0.0.1:PORT\\", "https://127.0.0.1:PORT/", "//127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_GET",
		"FILE:///etc/passwd", "file:/etc/passwd", "file:etc/passwd", "file://localhost/etc/passwd", "file://127.0.0.1/etc/passwd", "file:////etc/passwd",
		" file:///etc/passwd", "file:///etc/passwd?x", "jar:file:///a.jar!/b", "netdoc:///etc/passwd", "/etc/passwd", "unix:///var/run/docker.sock", "data:,x", "",
	} {
		for name, open := range map[string]func(uri string) error{
			"asset": func(uri string) error {
				_, err := s.HashAsset(t.Context(), property.Asset{Source: property.SourceURI, URI: uri})
				return err
			},
			"archive": func(uri string) error {
				_, err := s.HashArchive(t.Context(), property.Archive{Source: property.SourceURI, URI: uri + "x.zip"})
				return err
			},
		} {
			require.Error(t, open(strings.ReplaceAll(uri, "PORT", port)), "%s %s", name, uri)
			require.Zero(t, asked, "%s %s", name, uri)
		}
	}
}

// A proxy of the user's network is asked about what the user has written, and may not be made to
// ask for what is inside.
func TestProxiesAreForURLsOfTheProgram(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		if strings.HasSuffix(r.URL.Path, "/inside") {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
			return
		}
		io.WriteString(w, "by the proxy")
	}))
	defer proxy.Close()
	through, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	fetch := func(uri string, foreign bool) (string, error) {
		u, err := url.Parse(uri)
		require.NoError(t, err)
		r := contents.Remote{URL: u, Named: "example.org:80", Foreign: foreign}
		var body io.ReadCloser
		if body, err = contents.HTTP(http.ProxyURL(through))(t.Context(), r); err != nil {
			return "", err
		}
		defer body.Close()
		data, err := io.ReadAll(body)
		return string(data), err
	}
	text, err := fetch("http://example.org/a", false)
	require.NoError(t, err)
	require.Equal(t, "by the proxy", text)
	_, err = fetch("http://example.org/inside", false)
	require.ErrorContains(t, err, "169.254.169.254 is link-local")
	asked = nil
	_, err = fetch("http://example.invalid/a", true)
	require.Error(t, err)
	require.Empty(t, asked)
}

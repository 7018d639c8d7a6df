package provider_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/local/provider"
)

const (
	file      = "local:index/file:File"
	directory = "local:index/directory:Directory"
	getFile   = "local:index/getFile:getFile"
)

// start tests the provider in an empty working directory.
func start(t *testing.T) *pt.Provider {
	t.Helper()
	t.Chdir(t.TempDir())
	return pt.New(t, provider.New())
}

func content(t require.TestingT, path string) string {
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(bytes)
}

func mode(t require.TestingT, path string) fs.FileMode {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode()
}

// names returns all files and directories below the working directory.
func names(t require.TestingT) []string {
	var all []string
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." {
			all = append(all, filepath.ToSlash(path))
		}
		return err
	}))
	return all
}

func sha256Of(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func TestAFileLives(t *testing.T) {
	p := start(t)
	inputs := pt.Object{"path": "a/b/file.txt", "content": "one"}
	r := p.Create(file, inputs)
	require.Equal(t, "a/b/file.txt", r.ID)
	require.Equal(t, "one", content(t, "a/b/file.txt"))
	require.Equal(t, fs.FileMode(0o644), mode(t, "a/b/file.txt"))
	require.Equal(t, fs.ModeDir|0o755, mode(t, "a"))
	require.Equal(t, fs.ModeDir|0o755, mode(t, "a/b"))
	require.Empty(t, p.Diff(r, inputs))

	inputs = pt.Object{"path": "a/b/file.txt", "content": "two", "filePermission": "0600"}
	require.Equal(t, []string{"content update", "filePermission update"}, p.Diff(r, inputs))
	r = p.Update(r, inputs)
	require.Equal(t, "two", content(t, "a/b/file.txt"))
	require.Equal(t, fs.FileMode(0o600), mode(t, "a/b/file.txt"))
	require.Empty(t, p.Diff(r, inputs))

	require.Equal(t, []string{"path update-replace"}, p.Diff(r, pt.With(inputs, pt.Object{"path": "a/c.txt"})))
	require.Empty(t, p.Diff(r, pt.With(inputs, pt.Object{"path": "./a/../a//b/file.txt", "filePermission": "600"})),
		"the same path and the same permission, written in another way")

	p.Delete(r)
	require.Equal(t, []string{"a", "a/b"}, names(t))
	p.Delete(r) // it was gone already
}

func TestContentsAndTheirDigests(t *testing.T) {
	p := start(t)
	for name, text := range map[string]string{"content": "Zürich\n", "sensitiveContent": "hunter2", "contentBase64": "\x00\xff"} {
		given := text
		if name == "contentBase64" {
			given = base64.StdEncoding.EncodeToString([]byte(text))
		}
		r := p.Create(file, pt.Object{"path": "f", name: given})
		require.Equal(t, text, content(t, "f"))
		require.Equal(t, sha256Of(text), r.Text("contentSha256"))
		require.Equal(t, name == "sensitiveContent", r.State.Get(name).IsSecret())

		result := p.Invoke(getFile, pt.Object{"path": "f"})
		for digest, size := range map[string]int{
			"contentMd5": 32, "contentSha1": 40, "contentSha256": 64, "contentSha512": 128, "contentBase64sha256": 44, "contentBase64sha512": 88,
		} {
			require.Len(t, r.Text(digest), size)
			require.True(t, result.Get(digest).EqualContents(r.State.Get(digest)))
		}
		require.Equal(t, property.String(base64.StdEncoding.EncodeToString([]byte(text))), result.Get("contentBase64"))
		require.Equal(t, property.String("0644"), result.Get("filePermission"))
		if name == "contentBase64" {
			require.False(t, result.Has("content"), "what is not UTF-8 is no text")
		} else {
			require.Equal(t, property.String(text), result.Get("content"))
		}
	}
	r := p.Create(file, pt.Object{"path": "f", "content": ""})
	require.Empty(t, content(t, "f"))
	require.Equal(t, sha256Of(""), r.Text("contentSha256"))
}

func TestWhatIsSensitiveStaysSecret(t *testing.T) {
	p := start(t)
	for _, inputs := range []pt.Object{
		{"path": "f", "sensitiveContent": "hunter2"},
		{"path": "f", "content": property.Secret(property.String("hunter2"))},
	} {
		r := p.Create(file, inputs)
		refreshed, _ := p.Refresh(r)
		require.NoError(t, os.WriteFile("f", []byte("hunter3"), 0o600))
		changed, _ := p.Refresh(r)
		for _, m := range []property.Map{r.Inputs, r.State, refreshed.Inputs, refreshed.State, changed.Inputs, changed.State} {
			require.NotContains(t, m.String(), "hunter")
		}
	}
}

func TestWhatAFileMustBe(t *testing.T) {
	p := start(t)
	for _, test := range []struct {
		inputs  pt.Object
		failure string
	}{
		{pt.Object{"content": ""}, "path: required property is missing"},
		{pt.Object{"path": "", "content": ""}, "path: it is empty; expected a path, such as out/site"},
		{pt.Object{"path": "a\x00b", "content": ""}, "path: it holds a zero byte, which no path may"},
		{pt.Object{"path": "a/", "content": ""}, "path: a/ names a directory, not a file"},
		{pt.Object{"path": "..", "content": ""}, "path: .. names a directory, not a file"},
		{pt.Object{"path": "a/.", "content": "", "filePermission": "0644"}, ""},
		{pt.Object{"path": "f"}, `content: exactly one of content, sensitiveContent, and contentBase64 must be given; for an empty file, write content: ""`},
		{pt.Object{"path": "f", "content": "", "sensitiveContent": ""}, "sensitiveContent: exactly one of content, sensitiveContent, and contentBase64 must be given; remove content or this"},
		{pt.Object{"path": "f", "contentBase64": "hunter2"}, "contentBase64: is not base64 (RFC 4648, section 4)"},
		{pt.Object{"path": "f", "content": strings.Repeat("x", 8<<20+1)}, "content: has 8388609 bytes; a file may have at most 8388608"},
		{pt.Object{"path": "f", "content": "", "filePermission": "rw"}, `filePermission: expected three octal digits in quotes, such as "0644", not "rw"`},
		{pt.Object{"path": "f", "content": "", "filePermission": ""}, "filePermission: expected three octal digits"},
		{pt.Object{"path": "f", "content": "", "filePermission": 384}, "filePermission: expected string, got number"},
		{pt.Object{"path": "f", "content": "", "filePermission": "4755"}, "filePermission: expected three octal digits"},
		{pt.Object{"path": "f", "content": "", "directoryPermission": "0888"}, "directoryPermission: expected three octal digits"},
	} {
		failures := p.Failures(file, test.inputs)
		if test.failure == "" {
			require.Empty(t, failures)
			continue
		}
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], test.failure)
		require.NotContains(t, failures[0], "hunter2")
	}
	require.Empty(t, p.Failures(file, pt.Object{
		"path": property.Unknown, "sensitiveContent": property.Unknown, "filePermission": property.Unknown,
	}))
	require.Len(t, p.Failures(file, pt.Object{"path": "f", "sensitiveContent": property.Unknown, "content": ""}), 1)
}

func TestARefreshFindsDrift(t *testing.T) {
	p := start(t)
	inputs := pt.Object{"path": "f", "content": "right"}
	r := p.Create(file, inputs)
	for _, test := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"nothing", func() {}, nil},
		{"other text", func() { require.NoError(t, os.WriteFile("f", []byte("wrong"), 0)) }, []string{"content update"}},
		{"no text", func() { require.NoError(t, os.WriteFile("f", []byte("\xff"), 0)) }, []string{"content update"}},
		{"too large", func() { require.NoError(t, os.Truncate("f", 9<<20)) }, []string{"content update"}},
		{"other mode", func() { require.NoError(t, os.Chmod("f", 0o600)) }, []string{"filePermission update"}},
		{"a link to the like", func() { require.NoError(t, os.Rename("f", "g")); require.NoError(t, os.Symlink("g", "f")) }, nil},
	} {
		test.change()
		refreshed, exists := p.Refresh(r)
		require.True(t, exists, test.name)
		require.Equal(t, test.want, p.Diff(refreshed, inputs), test.name)
		r = p.Update(refreshed, inputs)
		require.Equal(t, "right", content(t, "f"), test.name)
		require.Equal(t, fs.FileMode(0o644), mode(t, "f"), test.name)
		os.Remove("g")
	}
	info, err := os.Lstat("f")
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "an update puts a file in the place of a link")

	require.NoError(t, os.Remove("f"))
	_, exists := p.Refresh(r)
	require.False(t, exists)
	require.NoError(t, os.Mkdir("f", 0o755))
	_, exists = p.Refresh(r)
	require.False(t, exists)
	p.Delete(r)
	require.Equal(t, []string{"f"}, names(t), "what is not the file is not deleted")
}

func TestAFileIsImported(t *testing.T) {
	p := start(t)
	require.NoError(t, os.WriteFile("text", []byte("hello"), 0o640))
	require.NoError(t, os.WriteFile("bytes", []byte{0xff}, 0o640))
	for path, want := range map[string]pt.Object{
		"text":    {"path": "text", "content": "hello", "filePermission": "0640"},
		"./bytes": {"path": "bytes", "contentBase64": "/w==", "filePermission": "0640"},
	} {
		r, err := p.TryImport(file, path)
		require.NoError(t, err)
		require.Empty(t, p.Diff(r, want))
	}
	r, err := p.TryImport(file, "none")
	require.NoError(t, err)
	require.Empty(t, r.ID)
	_, err = p.TryImport(file, "a/")
	require.ErrorContains(t, err, "the ID of a file is its path, and a/ names a directory")
}

func TestAFileIsPreviewed(t *testing.T) {
	p := start(t)
	state, err := p.TryPreview(file, pt.Object{"path": "a/f", "content": "x"})
	require.NoError(t, err)
	require.Empty(t, names(t))
	require.Equal(t, property.String(sha256Of("x")), state.Get("contentSha256"))
	state, err = p.TryPreview(file, pt.Object{"path": "a/f", "content": property.Unknown})
	require.NoError(t, err)
	require.Equal(t, property.Unknown, state.Get("contentSha256"))
}

func TestWhatCannotBeWritten(t *testing.T) {
	p := start(t)
	require.NoError(t, os.MkdirAll("dir/sub", 0o755))
	require.NoError(t, os.WriteFile("plain", nil, 0o644))
	require.NoError(t, os.Symlink("loop", "loop"))
	before := names(t)
	for path, message := range map[string]string{
		"dir":                      "path: dir is a directory; choose another path, or move it away",
		"plain/f":                  "path: plain/f: it, or a directory above it, is a file; choose another path, or move that away",
		"plain/f/g":                ": it, or a directory above it, is a file",
		"loop/f":                   "path: loop/f leads through symbolic links that go in circles",
		"/dev/null":                "path: /dev/null is not a regular file",
		strings.Repeat("x", 10000): "is too long for a path",
	} {
		_, err := p.TryCreate(file, pt.Object{"path": path, "content": "x"})
		require.ErrorContains(t, err, message)
		require.Equal(t, before, names(t), "nothing is left behind")
	}
	for path, message := range map[string]string{
		"none":      "none does not exist",
		"dir":       "path: dir is not a regular file",
		"/dev/zero": "path: /dev/zero is not a regular file",
		"plain/f":   "path: plain/f: it, or a directory above it, is a file",
		"":          "path: it is empty",
	} {
		_, err := p.TryInvoke(getFile, pt.Object{"path": path})
		require.ErrorContains(t, err, message)
	}
	_, err := p.TryInvoke(getFile, pt.Object{"path": "none"})
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.NoError(t, os.Truncate("plain", 8<<20+1))
	_, err = p.TryInvoke(getFile, pt.Object{"path": "plain"})
	require.ErrorContains(t, err, "path: plain has 8388609 bytes; at most 8388608 can be read")
}

// Whatever is written is what is read, and a file is as wide open as it was told to be.
func TestFilesHoldWhatTheyAreTold(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		p := p.In(t)
		bytes := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		bits := fs.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode")) | 0o400
		permission := "0" + strings.ToLower(string([]byte{'0' + byte(bits>>6), '0' + byte(bits>>3&7), '0' + byte(bits&7)}))
		inputs := pt.Object{
			"path": "dir/f", "contentBase64": base64.StdEncoding.EncodeToString(bytes), "filePermission": permission,
		}
		r := p.Create(file, inputs)
		require.Equal(t, string(bytes), content(t, "dir/f"))
		require.Equal(t, bits, mode(t, "dir/f"))
		refreshed, exists := p.Refresh(r)
		require.True(t, exists)
		require.Empty(t, property.Diff(r.State, refreshed.State))
		require.Empty(t, property.Diff(r.Inputs, refreshed.Inputs))
		require.Empty(t, p.Diff(refreshed, inputs))
		require.Equal(t, []string{"dir", "dir/f"}, names(t))
		p.Delete(r)
	})
}

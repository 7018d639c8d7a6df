package lockfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

const text = `# Written by husk install and husk update. Commit this file, and do not edit it.
version: 1
providers:
  - name: greet
    source: oci://registry.example.com/acme/greet
    version: 1.2.0
    digest: ` + digestA + `
    size: 4096
    manifest: ` + digestB + `
    requests: [{capability: http, scope: 'https://api.example.com'}, {capability: kv, optional: true}]
  - name: greet
    source: oci://registry.example.com/acme/greet
    version: 1.10.0
    digest: ` + digestB + `
    size: 4097
`

func TestLock(t *testing.T) {
	l, err := lockfile.Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, []lockfile.Request{{Capability: "http", Scope: "https://api.example.com"}, {Capability: "kv", Optional: true}}, l.Providers[0].Requests)
	again, err := l.Encode()
	require.NoError(t, err)
	require.Equal(t, text, string(again))

	l.Providers[0], l.Providers[1] = l.Providers[1], l.Providers[0]
	again, err = l.Encode()
	require.NoError(t, err)
	require.Equal(t, text, string(again), "the order is that of names and versions")
}

func TestOf(t *testing.T) {
	l, err := lockfile.Parse([]byte(text))
	require.NoError(t, err)
	const from = "oci://registry.example.com/acme/greet"
	for asked, version := range map[string]string{"": "1.10.0", "^1.2": "1.10.0", "~1.2": "1.2.0", "1.2.0": "1.2.0"} {
		p, err := l.Of(&program.ProviderPlugin{Name: "greet", Source: from, Version: asked})
		require.NoError(t, err)
		require.Equal(t, version, p.Version, asked)
	}
	for _, c := range []struct {
		declared program.ProviderPlugin
		why      string
	}{
		{program.ProviderPlugin{Name: "greet", Source: from, Version: "^2"}, "husk.lock has version 1.2.0, and the project asks for ^2"},
		{program.ProviderPlugin{Name: "greet", Source: "oci://elsewhere.example.com/a/b"}, "husk.lock has it from " + from},
		{program.ProviderPlugin{Name: "other", Source: from}, "husk.lock does not have it"},
	} {
		p, err := l.Of(&c.declared)
		require.NoError(t, err)
		require.Nil(t, p)
		require.Equal(t, c.why, l.Why(&c.declared))
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	p := &program.Project{Dir: dir, Root: projectroot.New(dir, projectroot.Trusted)}
	l, err := lockfile.Load(p)
	require.NoError(t, err)
	changed, err := l.Write(p)
	require.NoError(t, err)
	require.False(t, changed)
	require.NoFileExists(t, lockfile.Path(p))
	l.Set(lockfile.Provider{Name: "greet", Source: "oci://a/b", Version: "1.0.0", Digest: digestA, Size: 1}, nil)
	for _, want := range []bool{true, false} {
		changed, err = l.Write(p)
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	l, err = lockfile.Load(p)
	require.NoError(t, err)
	l.Set(lockfile.Provider{Name: "greet", Source: "oci://a/b", Version: "1.1.0", Digest: digestB, Size: 1}, &l.Providers[0])
	require.Len(t, l.Providers, 1)
	l.Keep(func(lockfile.Provider) bool { return false })
	changed, err = l.Write(p)
	require.NoError(t, err)
	require.True(t, changed)
	written, err := os.ReadFile(lockfile.Path(p))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(written), "providers: []\n"))
}

// A lock that was edited by hand, or that holds the marks of a merge, is an error at its place.
func TestEditedByHand(t *testing.T) {
	for _, c := range []struct{ old, by, want string }{
		{digestA, "sha256:1234", `husk.lock:7:13: "sha256:1234" is not a digest`},
		{digestA, strings.ToUpper(digestA), "is not a digest"},
		{"size: 4096", "size: many", `husk.lock:8:11: a size must be a number, not "many"`},
		{"size: 4096", "size: 0", "a locked provider has no size"},
		{"    version: 1.2.0\n", "", "a locked provider has no version"},
		{"version: 1.2.0", "version: newest", `"newest" is not a version`},
		{"version: 1.2.0", "version: 1.10.0", "greet 1.10.0 is locked twice"},
		{"version: 1\n", "version: 2\n", "the lock has the version 2, and this version of husk reads 1"},
		{"version: 1\n", "", "the lock has the version 0"},
		{"size: 4096", "sizes: 4096", `unknown key "sizes"`},
		{"optional: true", "optional: maybe", "must be true or false"},
		{"capability: kv, ", "", "a request has no capability"},
		{"providers:\n", "<<<<<<< mine\nproviders:\n", "husk.lock:"},
	} {
		edited := strings.Replace(text, c.old, c.by, 1)
		require.NotEqual(t, text, edited)
		_, err := lockfile.Parse([]byte(edited))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "restore the file, or remove it and run husk install")
	}
}

// Any text is an error, or a lock whose own text reads as the same lock.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte("version: 1\nproviders: []\n"))
	f.Add([]byte("providers: [{name: a, source: b, version: 1.0.0, digest: '" + digestA + "', size: 1}]\nversion: 1"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := lockfile.Parse(raw)
		if err != nil || len(l.Providers) == 0 {
			return
		}
		encoded, err := l.Encode()
		require.NoError(t, err)
		again, err := lockfile.Parse(encoded)
		require.NoError(t, err, string(encoded))
		require.Equal(t, l, again)
	})
}

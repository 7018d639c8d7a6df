package grant_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
)

// A request is fulfilled by a grant of the same, or of more.
func TestRequests(t *testing.T) {
	grants := grant.Set{Env: []string{"HOME"}, KV: anyStore{}}
	for _, text := range []grant.Text{
		{Capability: "fs", Scope: "out:rw"}, {Capability: "fs", Scope: "templates"},
		{Capability: "http", Scope: "https://api.example.org/v1"}, {Capability: "http", Scope: "https://**.example.com"},
		{Capability: "tcp", Scope: "*.example.org:5432"},
	} {
		require.NoError(t, grants.Add(text, grant.Place{Dir: "/project"}))
	}

	for capability, scopes := range map[string]struct{ granted, missing []string }{
		"fs":   {[]string{"", "out", "out:rw", "out/a/b:rw", "templates", "templates/x:ro"}, []string{"templates:rw", "outer", ".", "../out", "/"}},
		"env":  {[]string{"", "HOME"}, []string{"PATH", "home"}},
		"http": {[]string{"", "https://api.example.org/v1", "https://api.example.org/v1/pets", "https://a.example.com", "https://*.a.example.com"}, []string{"https://api.example.org", "https://api.example.org/v10", "http://api.example.org/v1", "https://example.com", "api.example.org"}},
		"tcp":  {[]string{"", "db.example.org:5432", "*.example.org:5432"}, []string{"db.example.org:5433", "*.org:5432", "x"}},
		"kv":   {[]string{""}, nil},
		"usb":  {nil, []string{""}},
	} {
		for _, scope := range scopes.granted {
			require.True(t, grants.Fulfils(capability, scope), scope)
			require.False(t, grant.Set{}.Fulfils(capability, scope), scope)
		}
		for _, scope := range scopes.missing {
			require.False(t, grants.Fulfils(capability, scope), scope)
		}
	}
}

type anyStore struct{ abi.KV }

// A grant is read from a flag, and written as flag and as project files have it.
func TestWrittenGrants(t *testing.T) {
	for flag, lines := range map[string]string{
		"fs=public:rw":             "\n      - public:rw",
		"env=HOME":                 "\n      - HOME",
		"http=https://example.org": "\n      - https://example.org",
		"tcp=[::1]:22":             "\n      - \"[::1]:22\"",
		"kv":                       " true",
	} {
		text, err := grant.ParseFlag(flag)
		require.NoError(t, err)
		require.Equal(t, flag, text.Flag())
		require.Equal(t, lines, text.Lines())
	}
	for _, name := range grant.Names() {
		c, _ := grant.Named(name)
		unknown := grant.Text{Capability: name}
		require.Equal(t, strings.TrimSuffix(name+"="+c.Placeholder, "="), unknown.Flag())
	}
	for flag, want := range map[string]string{
		"fs":    "must be fs=DIR:rw, fs=DIR, env=NAME, http=URL, tcp=HOST:PORT, or kv",
		"tcp=":  "must be fs=DIR:rw",
		"ftp":   "must be fs=DIR:rw",
		"ftp=x": `there is no capability "ftp"; there are fs, env, http, tcp, and kv`,
		"kv=x":  `there is no capability "kv"`,
	} {
		_, err := grant.ParseFlag(flag)
		require.ErrorContains(t, err, want, flag)
	}
}

// Each capability has a section in the document for operators.
func TestEachCapabilityIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/grants.md")
	require.NoError(t, err)
	for _, name := range grant.Names() {
		require.Contains(t, string(text), "\n## "+name+"\n")
	}
}

package examples_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quickstart returns a copy of the quickstart.
func quickstart(t *testing.T) *project {
	t.Helper()
	p := buildHusk(t).project(t)
	text, err := os.ReadFile("quickstart/Husk.yaml")
	require.NoError(t, err)
	providers, err := filepath.Abs("providers")
	require.NoError(t, err)
	p.Write("Husk.yaml", strings.ReplaceAll(string(text), "../providers", filepath.ToSlash(providers)))
	return p
}

// A user runs the quickstart: the program husk, the project file as it is, and the three providers,
// built and sandboxed.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	p := quickstart(t)
	const resources = 12 // with the stack itself

	got := p.Deploy("up", "--yes")
	require.Equal(t, changes{Create: resources}, got.Changes)
	requireServes(t, p.Path("out", "site"), "localhost")
	requireServes(t, p.Path("out", "site"), "127.0.0.1")

	got = p.Deploy("up", "--yes")
	require.Equal(t, changes{Same: resources}, got.Changes)
	require.Empty(t, got.Steps, "no provider was asked to create, update, or delete")

	// Another name in the certificate: what is made from it is made anew, in order.
	p.Edit("Husk.yaml", "dnsNames: [localhost,", "dnsNames: [localhost, example.test,")
	want := changes{Replace: 2, Update: 1, Same: resources - 3}
	planned := p.Deploy("preview")
	require.Equal(t, want, planned.Changes)
	got = p.Deploy("up", "--yes")
	require.Equal(t, want, got.Changes)
	require.Equal(t, []string{
		"create-replacement serverRequest", "create-replacement serverCert", "update certificateFile",
		"delete-replaced serverCert", "delete-replaced serverRequest",
	}, got.Steps)
	require.Equal(t, planned.Steps, got.Steps, "the preview told exactly what was done")
	requireServes(t, p.Path("out", "site"), "example.test")

	requireNoSecrets(t, p)

	got = p.Deploy("destroy", "--yes")
	require.Equal(t, changes{Delete: resources}, got.Changes)
	require.NoDirExists(t, p.Path("out", "site"))
	require.Regexp(t, `(?m)^\* *dev +0\b`, p.Run("stack", "ls"))
}

// requireServes serves the directory over HTTPS with the generated key and
// certificate, and fetches the page as a client that trusts the generated
// authority alone.
func requireServes(t *testing.T, dir, host string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.FileServer(http.Dir(dir)))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()

	chain, err := os.ReadFile(filepath.Join(dir, "server.crt"))
	require.NoError(t, err)
	_, rest := pem.Decode(chain)
	authority, _ := pem.Decode(rest)
	require.NotNil(t, authority, "the certificate file holds the authority's certificate too")
	ca, err := x509.ParseCertificate(authority.Bytes)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(ca)

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: host}}}
	response, err := client.Get(server.URL + "/index.html")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "www.husk.test")
}

// requireNoSecrets requires that neither the password nor a private key stands in
// plain text in anything that was printed or stored, but for the two files that
// are meant to hold them.
func requireNoSecrets(t *testing.T, p *project) {
	t.Helper()
	printed := p.Printed.String() // before a secret is asked for
	password := strings.TrimSpace(p.Run("stack", "output", "adminPassword", "--show-secrets"))
	require.Len(t, password, 24)
	key, err := os.ReadFile(p.Path("out", "site", "server.key"))
	require.NoError(t, err)
	config, err := os.ReadFile(p.Path("out", "site", "server.json"))
	require.NoError(t, err)
	require.Contains(t, string(config), jsonText(t, password))
	keyLine := strings.Split(string(key), "\n")[1]

	requireAbsent := func(where, text string) {
		t.Helper()
		require.NotContains(t, text, password, where)
		require.NotContains(t, text, jsonText(t, password), where)
		require.NotContains(t, text, keyLine, where)
		if !strings.HasSuffix(where, ".wasm") { // code that makes keys knows these words
			require.NotContains(t, text, "PRIVATE KEY", where)
		}
	}
	requireAbsent("what was printed", printed)
	requireAbsent("stack output", p.Run("stack", "output"))
	requireAbsent("stack export", p.Run("stack", "export"))
	requireAbsent("preview --diff", p.Run("preview", "--diff"))
	files := 0
	require.NoError(t, filepath.WalkDir(p.Path(".husk"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		requireAbsent(path, string(data))
		files++
		return err
	}))
	require.Positive(t, files)
}

func jsonText(t *testing.T, s string) string {
	quoted, err := json.Marshal(s)
	require.NoError(t, err)
	return string(quoted[1 : len(quoted)-1])
}

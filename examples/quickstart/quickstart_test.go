// Package quickstart_test runs the quickstart as a user would: the program husk,
// the project file as it stands, and the three providers, built and sandboxed.
package quickstart_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// project is a copy of the quickstart, with a user and a home of its own.
type project struct {
	t    *testing.T
	husk string
	dir  string
	env  []string
	// printed is everything that any command printed.
	printed bytes.Buffer
}

func newProject(t *testing.T) *project {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and compiles three providers")
	}
	home := t.TempDir()
	p := &project{t: t, husk: filepath.Join(home, "bin", "husk"+exe()), dir: filepath.Join(home, "quickstart")}
	p.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		p.env = append(p.env, name+"="+strings.TrimSpace(string(value)))
	}
	build := exec.Command("go", "build", "-o", p.husk, "../../cmd/husk")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	text, err := os.ReadFile("Husk.yaml")
	require.NoError(t, err)
	providers, err := filepath.Abs("../providers")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(p.dir, 0o700))
	p.write(strings.ReplaceAll(string(text), "../providers", filepath.ToSlash(providers)))
	return p
}

func exe() string {
	if os.PathSeparator == '\\' {
		return ".exe"
	}
	return ""
}

func (p *project) path(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

func (p *project) write(text string) {
	require.NoError(p.t, os.WriteFile(p.path("Husk.yaml"), []byte(text), 0o600))
}

func (p *project) edit(old, new string) {
	text, err := os.ReadFile(p.path("Husk.yaml"))
	require.NoError(p.t, err)
	require.Contains(p.t, string(text), old)
	p.write(strings.Replace(string(text), old, new, 1))
}

// run runs husk in the project and returns its standard output.
func (p *project) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.husk, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	p.printed.Write(stdout.Bytes())
	p.printed.Write(stderr.Bytes())
	require.NoError(p.t, err, "husk %s\n%s%s", strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}

// changes are the counts of a summary.
type changes struct{ Create, Update, Replace, Delete, Same, Read int }

// deploy runs husk with JSON output and returns the counts, and the steps as
// "op name" without those that change nothing.
func (p *project) deploy(args ...string) (changes, []string) {
	p.t.Helper()
	out := p.run(append(args, "--json")...)
	var steps []string
	var last struct {
		Type, Result string
		Changes      changes
	}
	for line := range strings.Lines(out) {
		var event struct {
			Type string
			Step struct {
				Op, Name        string
				DefaultProvider bool
			}
		}
		require.NoError(p.t, json.Unmarshal([]byte(line), &event), "every line is JSON: %s", line)
		if event.Type == "step-done" && event.Step.Op != "same" && !event.Step.DefaultProvider {
			steps = append(steps, event.Step.Op+" "+event.Step.Name)
		}
		require.NoError(p.t, json.Unmarshal([]byte(line), &last))
	}
	require.Equal(p.t, "summary", last.Type)
	require.Equal(p.t, "succeeded", last.Result)
	return last.Changes, steps
}

func TestQuickstart(t *testing.T) {
	p := newProject(t)
	const resources = 12 // with the stack itself

	got, _ := p.deploy("up", "--yes")
	require.Equal(t, changes{Create: resources}, got)
	requireServes(t, p.path("out", "site"), "localhost")
	requireServes(t, p.path("out", "site"), "127.0.0.1")

	got, steps := p.deploy("up", "--yes")
	require.Equal(t, changes{Same: resources}, got)
	require.Empty(t, steps, "no provider was asked to create, update, or delete")

	// Another name in the certificate: what is made from it is made anew, in order.
	p.edit("dnsNames: [localhost,", "dnsNames: [localhost, example.test,")
	want := changes{Replace: 2, Update: 1, Same: resources - 3}
	planned, plannedSteps := p.deploy("preview")
	require.Equal(t, want, planned)
	got, steps = p.deploy("up", "--yes")
	require.Equal(t, want, got)
	require.Equal(t, []string{
		"create-replacement serverRequest", "create-replacement serverCert", "update certificateFile",
		"delete-replaced serverCert", "delete-replaced serverRequest",
	}, steps)
	require.Equal(t, plannedSteps, steps, "the preview told exactly what was done")
	requireServes(t, p.path("out", "site"), "example.test")

	requireNoSecrets(t, p)

	got, _ = p.deploy("destroy", "--yes")
	require.Equal(t, changes{Delete: resources}, got)
	require.NoDirExists(t, p.path("out", "site"))
	require.Regexp(t, `(?m)^\* *dev +0\b`, p.run("stack", "ls"))
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
	printed := p.printed.String() // before a secret is asked for
	password := strings.TrimSpace(p.run("stack", "output", "adminPassword", "--show-secrets"))
	require.Len(t, password, 24)
	key, err := os.ReadFile(p.path("out", "site", "server.key"))
	require.NoError(t, err)
	config, err := os.ReadFile(p.path("out", "site", "server.json"))
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
	requireAbsent("stack output", p.run("stack", "output"))
	requireAbsent("stack export", p.run("stack", "export"))
	requireAbsent("preview --diff", p.run("preview", "--diff"))
	files := 0
	require.NoError(t, filepath.WalkDir(p.path(".husk"), func(path string, entry fs.DirEntry, err error) error {
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

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/workspace"
)

// untrusted opens a stranger's project with these files, whose other backends than directories must not be opened.
func untrusted(t *testing.T, files map[string]string) (*workspace.Workspace, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	refused := func(_ context.Context, at named.URL, _ string) (*backend.Backend, error) {
		t.Errorf("%s was opened", at.Text())
		return nil, os.ErrInvalid
	}
	o := workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}, Backends: map[string]backend.Opener{}}
	for _, scheme := range []string{"http", "https", "postgres", "postgresql", "s3"} {
		o.Backends[scheme] = refused
	}
	return workspace.Open(t.Context(), projectroot.New(dir, projectroot.Untrusted), o)
}

// A project that is not trusted opens no backend, whatever names it.
func TestUntrustedProjectsNameNoBackend(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "")
	for _, url := range []string{
		"file:///tmp/elsewhere", "file://./state", "file://~", "http://127.0.0.1:8470", "https://husk.example", "https://:token@husk.example",
		"postgres://127.0.0.1/x", "postgresql:///x?host=/run/postgresql", "s3://bucket?endpoint=127.0.0.1:9000&region=x", "gs://bucket", "nonsense",
	} {
		_, err := untrusted(t, map[string]string{"Husk.yaml": "name: demo\nbackend: {url: " + jsonText(t, url) + "}\n"})
		require.ErrorContains(t, err, "the project is not trusted, and backend.url in Husk.yaml names where its stacks are: name the place yourself, with husk login or HUSK_BACKEND_URL", url)
	}
	_, err := untrusted(t, map[string]string{"Husk.yaml": "name: demo\n", ".husk/server.json": `{"url": "http://127.0.0.1:1"}`})
	require.ErrorContains(t, err, "the project is not trusted, and .husk/server.json in it names where its stacks are")
	_, err = untrusted(t, map[string]string{"Husk.yaml": "name: demo\n", ".husk/meta.json": "{}"})
	require.ErrorContains(t, err, "the project is not trusted, and whatever is in .husk beside it may be its author's")

	// The operator's word counts.
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	w, err := untrusted(t, map[string]string{
		"Husk.yaml": "name: demo\nbackend: {url: 'http://127.0.0.1:1'}\n", ".husk/selection.json": `{"stack":"prod"}`, ".husk/renaming.json": `{"from":"a","to":"b"}`,
	})
	require.NoError(t, err)
	stack, err := w.Stack("")
	require.NoError(t, err)
	require.Equal(t, "dev", stack, "what the author has selected")
}

// The key in the file of a stranger's stack must be that of its state.
func TestUntrustedProjectsNameNoKey(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "password")
	t.Setenv("VAULT_ADDR", "http://127.0.0.1:1")
	t.Setenv("VAULT_TOKEN", "canary")
	const salt = "encryptionsalt: v1:fozI5u6B030=:v1:F+6ZduKKd8G0/V7L:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ==\nconfig: {demo:token: {secure: 'v1:AAAA:BBBB'}}\n"
	for name, file := range map[string]string{
		"passphrase": salt,
		"service":    "secretsprovider: hashivault://team?engine=sys\nencryptedkey: AAAA\nconfig: {demo:token: {secure: 'v1:AAAA:BBBB'}}\n",
		"of before":  "secretsprovider: cloud\nencryptionsalt: '{\"url\":\"hashivault://team?engine=sys\",\"encryptedKey\":\"AAAA\"}'\nconfig: {demo:token: {secure: 'v1:AAAA:BBBB'}}\n",
		"user's key": "secretsprovider: husk-key\nencryptionsalt: '{}'\nconfig: {demo:token: {secure: 'v1:AAAA:BBBB'}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
			w, err := untrusted(t, map[string]string{"Husk.yaml": "name: demo\n", "Husk.dev.yaml": file})
			require.NoError(t, err)
			_, err = w.Stack("demo/dev")
			require.NoError(t, err)
			_, err = w.Lease(t.Context(), "dev", "up")
			require.ErrorContains(t, err, "the configuration of its stack dev names a key, before there is such a stack")

			other, err := untrusted(t, map[string]string{"Husk.yaml": "name: demo\n"})
			require.NoError(t, err)
			require.NoError(t, other.Init(t.Context(), "dev"))
			c, err := w.Config("dev")
			require.NoError(t, err)
			_, err = c.Entries(t.Context())
			require.ErrorContains(t, err, "does not name the key of the stack's state")
		})
	}
}

// The key of the stack's state may be one that a key service has encrypted.
func TestUntrustedProjectsNameTheKeyOfTheirStack(t *testing.T) {
	if _, err := exec.LookPath("base64"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no command for base64")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "password")
	bin, dir := t.TempDir(), t.TempDir()
	const aws = "#!/bin/sh\ntext=$(base64 | tr -d '\\n')\necho \"{\\\"CiphertextBlob\\\": \\\"$text\\\", \\\"Plaintext\\\": \\\"$text\\\"}\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "aws"), []byte(aws), 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	files := map[string]string{"Husk.yaml": "name: demo\n", "Husk.dev.yaml": "secretsprovider: awskms://alias/team?region=us-west-2&context_for=husk\n"}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	author, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Remark: func(string) {}, Secrets: &redact.Secrets{}})
	require.NoError(t, err)
	require.NoError(t, author.Init(t.Context(), "dev"))
	c, err := author.Config("dev")
	require.NoError(t, err)
	require.NoError(t, c.Set(t.Context(), "demo:token", nil, "hunter2", true))

	text, err := os.ReadFile(filepath.Join(dir, "Husk.dev.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "encryptedkey: ")
	files["Husk.dev.yaml"] = string(text)
	w, err := untrusted(t, files)
	require.NoError(t, err)
	_, err = w.Stack("demo/dev")
	require.NoError(t, err)
	c, err = w.Config("dev")
	require.NoError(t, err)
	entries, err := c.Entries(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hunter2", entries[0].Value)
}

// Nor does the file choose the key service of a stack that is made for it.
func TestUntrustedProjectsChooseNoKeyService(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "password")
	w, err := untrusted(t, map[string]string{"Husk.yaml": "name: demo\n", "Husk.dev.yaml": "secretsprovider: command://theirs\n"})
	require.NoError(t, err)
	_, err = w.Stack("demo/dev")
	require.NoError(t, err)
	_, err = w.Lease(t.Context(), "dev", "up")
	require.ErrorContains(t, err, "the configuration of its stack dev names a key, before there is such a stack")
}

// A stack that exists is not opened for a project that only calls itself like its own.
func TestUntrustedProjectsAreNamedByWhoRunsThem(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "password")
	files := map[string]string{"Husk.yaml": "name: payroll\n"}
	first, err := untrusted(t, files)
	require.NoError(t, err)
	require.NoError(t, first.Init(t.Context(), "prod"))

	w, err := untrusted(t, files)
	require.NoError(t, err)
	for _, given := range []string{"", "prod"} {
		_, err := w.Stack(given)
		require.NoError(t, err)
	}
	_, err = w.Copy(t.Context(), "prod")
	require.ErrorContains(t, err, "with --stack payroll/prod")
	_, err = w.Lease(t.Context(), "prod", "up")
	require.ErrorContains(t, err, "with --stack payroll/prod")
	_, err = w.LeaseExisting(t.Context(), "prod", "up")
	require.ErrorContains(t, err, "with --stack payroll/prod")
	_, err = w.References().Store.Load(t.Context(), state.StackName{Project: "payroll", Name: "prod"})
	require.ErrorContains(t, err, "the project is not trusted")

	_, err = w.Stack("payroll/prod")
	require.NoError(t, err)
	s, err := w.Copy(t.Context(), "prod")
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	_, err = w.References().Store.Load(t.Context(), state.StackName{Project: "payroll", Name: "prod"})
	require.NoError(t, err)
	_, err = w.References().Store.Load(t.Context(), state.StackName{Project: "other", Name: "prod"})
	require.ErrorContains(t, err, "may refer to stacks of its own only")
}

func jsonText(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	return string(quoted)
}

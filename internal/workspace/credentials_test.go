package workspace_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
	"github.com/husk-dev/husk/internal/workspace"
)

var backends = map[string]backend.Opener{"http": remote.Open, "https": remote.Open, "postgres": postgres.Open, "postgresql": postgres.Open, "s3": s3.Open}

// Whatever of the environment and of the user's files holds credentials, an address that a project names gets none of it.
func TestCredentialsAreForTheOperatorsPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the user's files are elsewhere")
	}
	namedtest.Set(t)
	for name, url := range map[string]string{
		"server": "http://ADDRESS", "server on localhost": "http://localhost:PORT", "database": "postgres://ADDRESS/stacks?sslmode=disable",
		"database with a user": "postgres://me@ADDRESS/stacks", "database with fallbacks": "postgresql://ADDRESS,ADDRESS/stacks?sslmode=prefer",
	} {
		t.Run(name, func(t *testing.T) {
			r := namedtest.Start(t)
			at := r.Addr().String()
			_, port, err := net.SplitHostPort(at)
			require.NoError(t, err)
			url = strings.ReplaceAll(strings.ReplaceAll(url, "ADDRESS", at), "PORT", port)
			var asked error
			open := func(file string) (remarks []string) {
				dir := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(file), 0o644))
				w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{
					Backends: backends, Remark: func(m string) { remarks = append(remarks, m) }, Secrets: &redact.Secrets{},
				})
				require.NoError(t, err)
				defer w.Close()
				_, err = w.Stacks(t.Context())
				require.Error(t, err)
				asked = err
				require.NotContains(t, err.Error(), namedtest.Canary)
				return remarks
			}
			remarks := open("name: demo\nbackend: {url: " + jsonText(t, url) + "}\n")
			received, requests := r.Seen()
			require.NotZero(t, requests, "nothing was asked: %v", asked)
			require.NotContains(t, received, namedtest.Canary)
			require.NotContains(t, received, "Authorization")
			require.Len(t, remarks, 1, "which says that the environment has credentials for nobody")
			require.Contains(t, remarks[0], "which only backend.url in Husk.yaml names")

			// The same place gets them if the operator names it: the table can fail.
			t.Setenv("HUSK_BACKEND_URL", url)
			require.Empty(t, open("name: demo\n"))
			received, _ = r.Seen()
			require.Contains(t, received, namedtest.Canary)
		})
	}
	for url, want := range map[string]string{
		"postgres://127.0.0.1:1/x?passfile=/home/me/.pgpass": `has the parameter "passfile"`, "postgres://127.0.0.1:1/x?service=prod": `has the parameter "service"`,
		"postgres://127.0.0.1:1/x?sslcert=/x&sslkey=/y": `has the parameter "sslcert"`, "postgres://127.0.0.1:1/x?servicefile=/x": `has the parameter "servicefile"`,
		"postgres:///x": `names the host ""`, "postgres://127.0.0.1:1/x?host=/run/postgresql": `names the host "/run/postgresql"`, "postgres://a,/x": `names the host ""`,
		"s3://bucket?region=x&endpoint=http://127.0.0.1:1": "a bucket needs credentials, and this machine's credentials are for buckets that you name yourself: set HUSK_BACKEND_URL",
		"s3://bucket?region=x&profile=prod":                "a bucket needs credentials",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nbackend: {url: "+jsonText(t, url)+"}\n"), 0o644))
		_, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Backends: backends, Remark: func(string) {}, Secrets: &redact.Secrets{}})
		require.ErrorContains(t, err, want, url)
	}
	t.Setenv("PGSERVICE", "prod")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nbackend: {url: 'postgres://127.0.0.1:1/x'}\n"), 0o644))
	_, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Backends: backends, Remark: func(string) {}, Secrets: &redact.Secrets{}})
	require.ErrorContains(t, err, "PGSERVICE is set")
}

// A project may name the place to which the operator has logged in, and then has that login.
func TestAProjectNamesThePlaceOfTheLogin(t *testing.T) {
	namedtest.Set(t)
	r := namedtest.Start(t)
	config, err := os.UserConfigDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(config, "husk"), 0o700))
	login := fmt.Sprintf(`{"url":"http://:%s@%s"}`, "mytoken", r.Addr())
	require.NoError(t, os.WriteFile(filepath.Join(config, "husk", "login.json"), []byte(login), 0o600))
	for url, has := range map[string]bool{"http://" + r.Addr().String(): true, "http://" + r.Addr().String() + "/other": false} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: demo\nbackend: {url: '"+url+"'}\n"), 0o644))
		w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{Backends: backends, Remark: func(string) {}, Secrets: &redact.Secrets{}})
		require.NoError(t, err)
		_, err = w.Stacks(t.Context())
		require.Error(t, err)
		received, _ := r.Seen()
		require.Equal(t, has, strings.Contains(received, "mytoken"), url)
	}
}

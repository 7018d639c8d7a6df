package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

func TestBackendDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written otherwise")
	}
	t.Setenv("HOME", "/home/me")
	for url, want := range map[string]string{
		"file:///var/state":     "/var/state",
		"file://state":          "/project/state",
		"file://./state/../two": "/project/two",
		"file://~":              "/home/me",
		"file://~/state":        "/home/me/state",
		"file://~other":         "/project/~other",
	} {
		got, err := backendDir(url, "backend.url", "/project")
		require.NoError(t, err, url)
		require.Equal(t, want, got, url)
	}
	for _, url := range []string{"s3://bucket", "https://api.pulumi.com", "/var/state", "file://", "file:/var"} {
		_, err := backendDir(url, "backend.url in Husk.yaml", "/project")
		require.ErrorContains(t, err, "backend.url in Husk.yaml is \""+url+"\"")
	}
}

// open opens a project whose stacks are in memory, with a passphrase, or with the key of a new user, which takes no time to derive.
func open(t *testing.T, passphrase string, files map[string]string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("HUSK_CONFIG_PASSPHRASE", passphrase)
	if passphrase == "" {
		require.NoError(t, os.Unsetenv("HUSK_CONFIG_PASSPHRASE"))
		config := t.TempDir()
		t.Setenv("XDG_CONFIG_HOME", config)
		t.Setenv("HOME", config)
	}
	t.Setenv(BackendVariable, "")
	store := new(memstore.Store)
	w, err := Open(t.Context(), projectroot.New(dir, projectroot.Trusted), Options{Store: func(string) state.Store { return store }, Remark: func(string) {}})
	require.NoError(t, err)
	return w
}

// What Pulumi's service or a key of a cloud has encrypted is an error that says what to do.
func TestSecretsOfOtherKeys(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"service": {"config: {demo:token: {secure: AAABAKd8xUjBbp4o}}\n",
			"if Pulumi's service has encrypted the value, run pulumi stack change-secrets-provider passphrase"},
		"named service": {"secretsprovider: default\nconfig: {demo:token: {secure: AAABAKd8xUjBbp4o}}\n",
			`by a provider of type "default", and husk knows ["passphrase" "husk-key" "cloud"]`},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, "password", map[string]string{"Pulumi.yaml": "name: demo\n", "Pulumi.dev.yaml": c.file})
			require.NoError(t, w.Init(t.Context(), "dev"))
			config, err := w.Config("dev")
			require.NoError(t, err)
			_, err = config.Entries(t.Context())
			require.ErrorContains(t, err, `cannot decrypt the configuration key "demo:token" of Pulumi.dev.yaml`)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A stack gets no other key than its file names.
func TestNewStateIsNotMadeWithoutItsKeyService(t *testing.T) {
	t.Setenv("VAULT_ADDR", "")
	t.Setenv("VAULT_SERVER_URL", "")
	for file, want := range map[string]string{
		"secretsprovider: gcpkms://projects/p/team\nencryptedkey: AAAA\n": "run pulumi stack change-secrets-provider passphrase first",
		"secretsprovider: gcpkms://projects/p/team\n":                     "run pulumi stack change-secrets-provider passphrase first",
		"secretsprovider: hashivault://team\nencryptedkey: AAAA\n":        "set VAULT_ADDR",
		"secretsprovider: hashivault://team\n":                            "set VAULT_ADDR",
	} {
		t.Run(file, func(t *testing.T) {
			w := open(t, "password", map[string]string{"Pulumi.yaml": "name: demo\n", "Pulumi.dev.yaml": file})
			require.ErrorContains(t, w.Init(t.Context(), "dev"), want)
			stacks, err := w.Stacks(t.Context())
			require.NoError(t, err)
			require.Empty(t, stacks)
		})
	}
}

// pulumiConfig was written by Pulumi: its passphrase is "password".
const pulumiConfig = "encryptionsalt: v1:fozI5u6B030=:v1:F+6ZduKKd8G0/V7L:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ==\n"

func TestOnePassphraseOpensConfigurationAndState(t *testing.T) {
	w := open(t, "password", map[string]string{"Pulumi.yaml": "name: demo\n", "Pulumi.dev.yaml": pulumiConfig})
	require.NoError(t, w.Init(t.Context(), "dev"))
	snapshot, _, err := w.Read(t.Context(), "dev", true)
	require.NoError(t, err)
	require.Contains(t, string(snapshot.Secrets.State), "fozI5u6B030=", "the state is encrypted with the configuration's salt")

	c, err := w.Config("dev")
	require.NoError(t, err)
	require.NoError(t, c.Set(t.Context(), "demo:key", nil, "hunter2", true))
	text, err := os.ReadFile(filepath.Join(w.Project.Dir, "Pulumi.dev.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), pulumiConfig)
	require.NotContains(t, string(text), "hunter2")
	entries, err := c.Entries(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hunter2", entries[0].Value)
	require.True(t, entries[0].Secret)

	t.Setenv("HUSK_CONFIG_PASSPHRASE", "guess")
	require.NoError(t, w.Init(t.Context(), "prod"), "a stack of its own has a key of its own")
	c, err = w.Config("dev")
	require.NoError(t, err)
	_, err = c.Entries(t.Context())
	require.ErrorIs(t, err, secrets.ErrWrongKey)
}

func TestNewStateIsNotMadeWithAWrongPassphrase(t *testing.T) {
	w := open(t, "guess", map[string]string{"Pulumi.yaml": "name: demo\n", "Pulumi.dev.yaml": pulumiConfig})
	require.ErrorIs(t, w.Init(t.Context(), "dev"), secrets.ErrWrongKey)
	_, err := w.Lease(t.Context(), "dev", "up")
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	stacks, err := w.Stacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, stacks)
}

func TestSelection(t *testing.T) {
	w := open(t, "", map[string]string{"Husk.yaml": "name: demo\n"})
	stack := func() string {
		s, err := w.Stack("")
		require.NoError(t, err)
		return s
	}
	require.Equal(t, DefaultStack, stack())
	require.ErrorIs(t, w.Select(t.Context(), "prod"), state.ErrStackNotFound)
	require.NoError(t, w.Init(t.Context(), "prod"))
	require.NoError(t, w.Select(t.Context(), "prod"))
	require.Equal(t, "prod", stack())
	require.NoError(t, w.Forget("other"))
	require.Equal(t, "prod", stack())
	require.NoError(t, w.Forget("prod"))
	require.Equal(t, DefaultStack, stack())

	// A selection that was altered is not that of another stack. One without a checksum is of an
	// older husk.
	require.NoError(t, w.Select(t.Context(), "prod"))
	text, err := os.ReadFile(w.dataPath(selectionFile))
	require.NoError(t, err)
	for _, damaged := range []string{`{"stack": "../x"}`, "", strings.Replace(string(text), "prod", "prof", 1), strings.Replace(string(text), "crc32c", "crc32b", 1)} {
		require.NoError(t, os.WriteFile(w.dataPath(selectionFile), []byte(damaged), 0o644))
		_, err := w.Stack("")
		require.ErrorContains(t, err, "select one with husk stack select", damaged)
	}
	require.NoError(t, os.WriteFile(w.dataPath(selectionFile), []byte(`{"stack":"prod"}`), 0o644))
	require.Equal(t, "prod", stack())
	_, err = w.Stack("a/b")
	require.Error(t, err)
}

func TestCopyLeavesNothingBehind(t *testing.T) {
	w := open(t, "", map[string]string{"Husk.yaml": "name: demo\n"})
	s, err := w.Copy(t.Context(), DefaultStack)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	_, err = w.Copy(t.Context(), "prod")
	require.ErrorIs(t, err, state.ErrStackNotFound)
	stacks, err := w.Stacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, stacks)

	// A copy can be taken while another run holds the stack.
	held, err := w.Lease(t.Context(), DefaultStack, "up")
	require.NoError(t, err)
	s, err = w.Copy(t.Context(), DefaultStack)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, held.Close(t.Context()))
	require.NoDirExists(t, filepath.Join(w.Project.Dir, ".husk"))
}

package pulumitest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	pulumiworkspace "github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace"
)

// The configuration of a stack is the same for Husk as for Pulumi, whose code has written and encrypted it, and
// Pulumi reads what Husk adds to the file.
func TestConfigurationOfAStack(t *testing.T) {
	const phrase = "correct horse"
	salt, manager, err := passphrase.NewPassphraseSecretsManager(phrase)
	require.NoError(t, err)
	written := &pulumiworkspace.ProjectStack{EncryptionSalt: salt, Config: config.Map{}}
	for _, v := range []struct {
		key, value string
		secret     bool
	}{
		{"shop:color", "red", false},
		{"shop:empty", "", false},
		{"shop:lines", "two\nlines: {of: yaml}\n", false},
		{"shop:digits", "007", false},
		{"shop:yes", "true", false},
		{"shop:token", "hunter2 ü\n", true},
		{"aws:region", "eu-west-1", false},
		{"aws:secretKey", "very secret", true},
		{"shop:nested.inner.deep", "leaf", false},
		{"shop:nested.list[0]", "12", false},
		{"shop:nested.list[1]", "first", false},
		{"shop:nested.password", "inside", true},
		{"shop:servers[0].name", "one", false},
		{"shop:servers[0].key", "of one", true},
		{"a-b.c:key.with[\"dots.and-dashes\"]", "x", false},
	} {
		key, err := config.ParseKey(v.key)
		require.NoError(t, err, v.key)
		value := config.NewValue(v.value)
		if v.secret {
			ciphertext, err := manager.Encrypter().EncryptValue(t.Context(), v.value)
			require.NoError(t, err)
			value = config.NewSecureValue(ciphertext)
		}
		require.NoError(t, written.Config.Set(key, value, true), v.key)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "Pulumi.dev.yaml")
	require.NoError(t, written.Save(file))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: shop\nruntime: nodejs\n"), 0o644))

	// Husk reads what Pulumi has written.
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", phrase)
	read := func() map[config.Key]string {
		w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{})
		require.NoError(t, err)
		defer w.Close()
		c, err := w.Config("dev")
		require.NoError(t, err)
		entries, err := c.Entries(t.Context())
		require.NoError(t, err)
		secrets, values := map[string]bool{}, map[config.Key]string{}
		for _, e := range entries {
			key, err := config.ParseKey(e.Key)
			require.NoError(t, err)
			values[key], secrets[e.Key] = e.Value, e.Secret
		}
		loaded := load(t, file)
		for key, v := range loaded.Config {
			require.Equal(t, v.Secure(), secrets[key.String()], key)
		}
		return values
	}
	same := func(want, got map[config.Key]string) {
		require.Len(t, got, len(want))
		for key, value := range want {
			if json.Valid([]byte(value)) {
				require.JSONEq(t, value, got[key], "%s", key)
			} else {
				require.Equal(t, value, got[key], "%s", key)
			}
		}
	}
	want, err := written.Config.Decrypt(manager.Decrypter())
	require.NoError(t, err)
	same(want, read())

	// A file holds the passphrase as well.
	require.NoError(t, os.Unsetenv("PULUMI_CONFIG_PASSPHRASE"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "phrase"), []byte(phrase+"\n"), 0o600))
	t.Setenv("PULUMI_CONFIG_PASSPHRASE_FILE", filepath.Join(dir, "phrase"))
	same(want, read())

	// Pulumi reads what Husk adds.
	w, err := workspace.Open(t.Context(), projectroot.New(dir, projectroot.Trusted), workspace.Options{})
	require.NoError(t, err)
	defer w.Close()
	c, err := w.Config("dev")
	require.NoError(t, err)
	require.NoError(t, c.Set(t.Context(), "shop:added", nil, "by husk", true))
	require.NoError(t, c.Set(t.Context(), "shop:nested", property.Path{property.Key("more")}, "plain", false))
	loaded := load(t, file)
	require.Equal(t, salt, loaded.EncryptionSalt)
	again, err := loaded.Config.Decrypt(manager.Decrypter())
	require.NoError(t, err)
	same(again, read())
	require.Equal(t, "by husk", again[config.MustMakeKey("shop", "added")])
	require.Contains(t, again[config.MustMakeKey("shop", "nested")], `"more":"plain"`)
}

// load has Pulumi read the configuration of a stack.
func load(t *testing.T, file string) *pulumiworkspace.ProjectStack {
	t.Helper()
	loaded, err := pulumiworkspace.LoadProjectStack(diag.DefaultSink(t.Output(), t.Output(), diag.FormatOptions{Color: "never"}),
		&pulumiworkspace.Project{Name: "shop"}, file)
	require.NoError(t, err)
	return loaded
}

package secrets_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/secrets"
)

// keysOf returns Keys of a made-up environment, files, and user. made counts the
// keys that were made.
func keysOf(t *testing.T, env map[string]string, files map[string]string, configDir string, made *atomic.Int32) secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		ConfigDir: func() (string, error) { return configDir, nil },
		KeyMade: func(path string) {
			require.Equal(t, filepath.Join(configDir, "husk", "secrets.key"), path)
			made.Add(1)
		},
	}
}

func TestPassphraseIsFoundInOrder(t *testing.T) {
	files := map[string]string{"/run/husk": "from husk file\n", "/run/pulumi": " from pulumi file "}
	all := map[string]string{
		"HUSK_CONFIG_PASSPHRASE":        "husk",
		"PULUMI_CONFIG_PASSPHRASE":      "pulumi",
		"HUSK_CONFIG_PASSPHRASE_FILE":   "/run/husk",
		"PULUMI_CONFIG_PASSPHRASE_FILE": "/run/pulumi",
	}
	without := func(names ...string) map[string]string {
		env := map[string]string{}
		for k, v := range all {
			env[k] = v
		}
		for _, name := range names {
			delete(env, name)
		}
		return env
	}
	for name, test := range map[string]struct {
		env    map[string]string
		text   string
		source string
	}{
		"husk first":    {all, "husk", "HUSK_CONFIG_PASSPHRASE"},
		"pulumi second": {without("HUSK_CONFIG_PASSPHRASE"), "pulumi", "PULUMI_CONFIG_PASSPHRASE"},
		"file third": {without("HUSK_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE"),
			"from husk file", "HUSK_CONFIG_PASSPHRASE_FILE (/run/husk)"},
		"pulumi's file last": {map[string]string{"PULUMI_CONFIG_PASSPHRASE_FILE": "/run/pulumi"},
			"from pulumi file", "PULUMI_CONFIG_PASSPHRASE_FILE (/run/pulumi)"},
		"set to nothing is an empty passphrase": {map[string]string{"PULUMI_CONFIG_PASSPHRASE": ""},
			"", "PULUMI_CONFIG_PASSPHRASE"},
		"a file variable set to nothing is not set": {
			map[string]string{"HUSK_CONFIG_PASSPHRASE_FILE": "", "PULUMI_CONFIG_PASSPHRASE_FILE": "/run/pulumi"},
			"from pulumi file", "PULUMI_CONFIG_PASSPHRASE_FILE (/run/pulumi)"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := keysOf(t, test.env, files, "", nil).Passphrase()
			require.NoError(t, err)
			require.Equal(t, secrets.Passphrase{Text: test.text, Source: test.source}, p)
		})
	}

	_, err := keysOf(t, nil, nil, "", nil).Passphrase()
	require.ErrorIs(t, err, secrets.ErrNoKey)
	require.ErrorContains(t, err, "set HUSK_CONFIG_PASSPHRASE")

	_, err = keysOf(t, map[string]string{"HUSK_CONFIG_PASSPHRASE_FILE": "/gone"}, nil, "", nil).Passphrase()
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, secrets.ErrNoKey, "a file that was named must be there")
	require.ErrorContains(t, err, "HUSK_CONFIG_PASSPHRASE_FILE")
}

func TestNewStackUsesThePassphraseThatIsSet(t *testing.T) {
	keys := keysOf(t, map[string]string{"HUSK_CONFIG_PASSPHRASE": "hunter2"}, nil, t.TempDir(), nil)
	p, err := keys.New(t.Context())
	require.NoError(t, err)
	require.Equal(t, secrets.TypePassphrase, p.Type())
}

func TestUserKeyIsMadeOnceAndKept(t *testing.T) {
	dir, made := t.TempDir(), new(atomic.Int32)
	keys := keysOf(t, nil, nil, dir, made)
	first, err := keys.New(t.Context())
	require.NoError(t, err)
	require.Equal(t, secrets.TypeUserKey, first.Type())
	require.EqualValues(t, 1, made.Load(), "the user is told")

	path := filepath.Join(dir, "husk", "secrets.key")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		info, err = os.Stat(filepath.Dir(path))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")

	second, err := keys.New(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, made.Load())
	require.NotEqual(t, string(first.State()), string(second.State()), "each stack has its own salt")

	ciphertext, err := first.Encrypt(t.Context(), "the secret")
	require.NoError(t, err)
	opened, err := keys.Open(t.Context(), first.Type(), first.State())
	require.NoError(t, err)
	plaintext, err := opened.Decrypt(t.Context(), ciphertext)
	require.NoError(t, err)
	require.Equal(t, "the secret", plaintext)
	_, err = second.Decrypt(t.Context(), ciphertext)
	require.ErrorIs(t, err, secrets.ErrCiphertext, "each stack has its own key")
}

func TestProcessesThatMakeAKeyAtOnceGetTheSame(t *testing.T) {
	dir, made := t.TempDir(), new(atomic.Int32)
	keys := keysOf(t, nil, nil, dir, made)
	fingerprints := make([]string, 8)
	var wg sync.WaitGroup
	for i := range fingerprints {
		wg.Go(func() {
			p, err := keys.New(context.Background())
			if err == nil {
				fingerprints[i] = fingerprintOf(p.State())
			}
		})
	}
	wg.Wait()
	for _, f := range fingerprints {
		require.NotEmpty(t, f)
		require.Equal(t, fingerprints[0], f)
	}
	require.EqualValues(t, 1, made.Load())
}

func fingerprintOf(state json.RawMessage) string {
	var s struct{ Fingerprint string }
	if json.Unmarshal(state, &s) != nil {
		return ""
	}
	return s.Fingerprint
}

func TestUserKeyOfAnotherMachine(t *testing.T) {
	here, there, made := t.TempDir(), t.TempDir(), new(atomic.Int32)
	p, err := keysOf(t, nil, nil, there, made).New(t.Context())
	require.NoError(t, err)

	opened, err := keysOf(t, nil, nil, here, made).Open(t.Context(), p.Type(), p.State())
	require.NoError(t, err)
	_, err = opened.Encrypt(t.Context(), "x")
	require.ErrorIs(t, err, secrets.ErrNoKey)
	require.ErrorContains(t, err, filepath.Join(here, "husk", "secrets.key"), "it says where the key belongs")
	require.NoFileExists(t, filepath.Join(here, "husk", "secrets.key"), "no useless key is made")

	_, err = keysOf(t, nil, nil, here, made).New(t.Context())
	require.NoError(t, err)
	opened, err = keysOf(t, nil, nil, here, made).Open(t.Context(), p.Type(), p.State())
	require.NoError(t, err)
	_, err = opened.Encrypt(t.Context(), "x")
	require.ErrorIs(t, err, secrets.ErrWrongKey)
}

func TestForeignKeyFileIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "husk", "secrets.key")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for name, contents := range map[string]string{"empty": "", "foreign": "hello\n", "short": "husk-key-v1:AAAA\n"} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(contents), 0o600))
			_, err := keysOf(t, nil, nil, dir, nil).New(t.Context())
			require.ErrorIs(t, err, secrets.ErrNoKey)
			require.ErrorContains(t, err, path)
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, contents, string(kept))
		})
	}
}

func TestUnknownProviderIsRefused(t *testing.T) {
	_, err := keysOf(t, nil, nil, "", nil).Open(t.Context(), "cloud", json.RawMessage(`{"url":"awskms://x"}`))
	require.ErrorIs(t, err, secrets.ErrUnknownProvider)
	require.ErrorContains(t, err, `"cloud"`)
}

func TestCancelledContextIsHonoured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	keys := keysOf(t, nil, nil, t.TempDir(), new(atomic.Int32))
	p, err := keys.New(ctx)
	require.NoError(t, err)
	cancel()
	_, err = p.Encrypt(ctx, "x")
	require.True(t, errors.Is(err, context.Canceled))
	_, err = p.Encrypt(t.Context(), "x")
	require.NoError(t, err, "a cancelled call spoils nothing")
	_, err = keys.New(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = keys.Open(ctx, p.Type(), p.State())
	require.ErrorIs(t, err, context.Canceled)
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	keys := keysOf(t, map[string]string{"HUSK_CONFIG_PASSPHRASE": "hunter2"}, nil, "", nil)
	p, err := keys.Open(t.Context(), secrets.TypePassphrase, json.RawMessage(vectorState))
	require.NoError(t, err)
	_, err = p.Decrypt(t.Context(), vectorCiphertext)
	require.Error(t, err)
	require.False(t, strings.Contains(err.Error(), "hunter2"))
}

// Files with secrets are known, so that nobody gets them by accident.
func TestFilesOfKeys(t *testing.T) {
	dir := t.TempDir()
	keys := keysOf(t, map[string]string{
		"HUSK_CONFIG_PASSPHRASE": "not a file", "HUSK_CONFIG_PASSPHRASE_FILE": "", "PULUMI_CONFIG_PASSPHRASE_FILE": "pass",
	}, nil, dir, new(atomic.Int32))
	require.Equal(t, []string{"pass", filepath.Join(dir, "husk", "secrets.key")}, keys.Files())
	keys.ConfigDir = func() (string, error) { return "", errors.New("there is none") }
	require.Equal(t, []string{"pass"}, keys.Files())
}

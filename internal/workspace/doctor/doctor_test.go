package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The key of the user is nobody else's business.
func TestKeys(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the directory of configuration is Linux's")
	}
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	for _, name := range []string{"HUSK_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE", "HUSK_CONFIG_PASSPHRASE_FILE", "PULUMI_CONFIG_PASSPHRASE_FILE"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	require.Equal(t, []Finding{{"key", Good, "none yet: the first stack with a secret makes one", ""}}, keys())
	file := filepath.Join(dir, "husk", "secrets.key")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, []Finding{{"key", Good, file, ""}}, keys())
	require.NoError(t, os.Chmod(file, 0o644))
	require.Equal(t, []Finding{{"key", Bad, file + " can be read by others: its mode is 0644", "run chmod 600 " + file}}, keys())
	t.Setenv("HUSK_CONFIG_PASSPHRASE_FILE", filepath.Join(dir, "none"))
	require.Equal(t, Bad, keys()[1].Level)
	require.Equal(t, "passphrase", keys()[1].Check)
}

func TestToolchain(t *testing.T) {
	for version, want := range map[string]Level{
		"go version go1.26.8 linux/amd64": Good,
		"go version go1.25 linux/arm64":   Good,
		"go version go1.24.1 linux/amd64": Warning,
		"go version devel":                Warning,
		"":                                Warning,
	} {
		m := Machine{GoVersion: func(context.Context) (string, error) {
			if version == "" {
				return "", errors.New("not found")
			}
			return version, nil
		}}
		f := m.toolchain(t.Context())
		require.Equal(t, want, f.Level, version)
		require.Equal(t, want == Good, f.Remedy == "", version)
	}
}

func TestClock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".husk")
	m := Machine{Now: time.Now}
	require.Equal(t, Good, m.clock(dir)[0].Level)
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		m.Now = func() time.Time { return time.Now().Add(off) }
		require.Equal(t, Warning, m.clock(dir)[0].Level)
	}
}

// The directory in which doctor runs has no other Go fetched and run by its go.mod, and no credentials of husk go to the go command.
func TestTheGoOfThisMachine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of the test is a shell script")
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho $GOTOOLCHAIN $HUSK_ACCESS_TOKEN\n"), 0o700))
	t.Setenv("PATH", bin)
	t.Setenv("GOTOOLCHAIN", "auto")
	t.Setenv("HUSK_ACCESS_TOKEN", "canary")
	version, err := ThisMachine().GoVersion(t.Context())
	require.NoError(t, err)
	require.Equal(t, "local", version)
}

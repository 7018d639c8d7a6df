package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindWhole(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	say := func(string, ...any) {}
	t.Setenv("PATH", t.TempDir())
	_, err := findWhole(none, say)
	require.ErrorIs(t, err, errNoWhole)
	require.ErrorContains(t, err, "go install github.com/husk-dev/husk/cmd/husk/husk-full@latest")

	installed := filepath.Join(os.Getenv("PATH"), executable(fullProgram))
	require.NoError(t, os.WriteFile(installed, nil, 0o755))
	found, err := findWhole(none, say)
	require.NoError(t, err)
	require.Equal(t, installed, found)

	// A husk of a checkout builds that of the checkout, for which it needs Go.
	t.Setenv("HUSK_CACHE_DIR", t.TempDir())
	checkout := t.TempDir()
	_, err = findWhole(func(string) (string, bool) { return checkout, true }, say)
	require.ErrorContains(t, err, "building husk-full in "+checkout)
}

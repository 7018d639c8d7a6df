package guestsdk_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	guestsdk "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/internal/testkit/packedtest"
)

// The program has the SDKs as they are.
func TestTheSourcesAreCurrent(t *testing.T) {
	packedtest.RequireCurrent(t, "sources.zip.gz", ".", "c/husk.c", "c/husk.h", "rust/Cargo.toml", "rust/src")
	for language, names := range map[string][]string{"c": {"husk.c", "husk.h"}, "rust": {"Cargo.toml", "src"}, "typescript": nil} {
		entries, err := fs.ReadDir(guestsdk.In(language), ".")
		require.NoError(t, err)
		require.Len(t, entries, len(names))
		for i, e := range entries {
			require.Equal(t, names[i], e.Name())
		}
	}
}

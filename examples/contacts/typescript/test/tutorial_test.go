package contacts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/examples/internal/contactstest"
)

// The commands of the tutorial work in turn, and so does its provider, which is one file without types that are checked.
func TestTutorial(t *testing.T) {
	built(t) // and with it the engine
	tutorial := contactstest.NewTutorial(t, "../../../..", "typescript", 9)
	tutorial.Builds("ts", "index.ts")

	// Without types and other imports, a file needs no bundler.
	require.NoError(t, os.RemoveAll(filepath.Join(tutorial.Dir, "node_modules", ".bin")))
	require.NoError(t, os.Rename(filepath.Join(tutorial.Dir, "index.ts"), filepath.Join(tutorial.Dir, "index.js")))
	tutorial.Sh("npm pkg set main=index.js")
	require.Contains(t, tutorial.Sh("husk provider build . -o notes.wasm"), "notes 0.1.0")

	// What is wrong is said at the build.
	require.NoError(t, os.WriteFile(filepath.Join(tutorial.Dir, "index.js"), []byte("import './other.js';\n"), 0o644))
	out, err := tutorial.Command("husk provider build .").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the module has no file ./other.js: the bundle must have all that it imports")
}

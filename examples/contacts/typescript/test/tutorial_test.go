package contacts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/examples/internal/contactstest"
)

// The commands of the tutorial work in turn, and so does its provider, which is one file without types that are checked.
func TestTutorial(t *testing.T) {
	built(t, "..") // and with it the engine
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	tutorial := contactstest.NewTutorial(t, root, "typescript", 9)
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

	// The program of the template deploys, and so does the one of its document.
	tutorial.Sh("cd .. && husk new program edge --language typescript --sdk '" + root + "'")
	tutorial.Sh("cd ../edge && npm install --prefix program && npm run check --prefix program")
	require.Contains(t, tutorial.Sh("husk up --yes -C ../edge"), "text: Hello from ")
	text, err := os.ReadFile(filepath.Join(root, "docs", "programs-wasm.md"))
	require.NoError(t, err)
	_, block, _ := strings.Cut(string(text), "```ts\n")
	block, _, _ = strings.Cut(block, "```")
	require.NoError(t, os.WriteFile(filepath.Join(tutorial.Dir, "..", "edge", "program", "index.ts"), []byte(block), 0o644))
	tutorial.Sh("cd ../edge && npm run check --prefix program && husk config set --secret token sesame")
	require.Contains(t, tutorial.Sh("husk up --yes -C ../edge"), "token: [secret]")
	tutorial.Sh("cd ../edge && npm pkg delete husk --prefix program")
	out, err = tutorial.Command("husk preview -C ../edge").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `package.json needs "husk": {"world": "program"}`)
}

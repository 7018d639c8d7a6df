package contacts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of the tutorial work in turn, and so does its provider, which is one file without types that are checked.
func TestTutorial(t *testing.T) {
	built(t) // and with it the engine
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial-provider-typescript.md"))
	require.NoError(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "husk"), "./cmd/husk")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir(), "HUSK_PASSPHRASE=correct horse")
	sh := func(command string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		return string(out)
	}
	sh("husk new provider greeter --language typescript --sdk '" + root + "'")
	dir = filepath.Join(dir, "greeter")
	ran := 0
	for _, line := range strings.Split(string(text), "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok || strings.HasPrefix(command, " ") || !strings.HasPrefix(command, "husk ") && !strings.HasPrefix(command, "npm ") && !strings.HasPrefix(command, "cd ") || strings.HasPrefix(command, "husk new ") {
			continue
		}
		ran++
		sh(strings.TrimPrefix(command, "cd greeter && "))
	}
	require.Equal(t, 9, ran)

	_, block, found := strings.Cut(string(text), "```ts\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.ts"), []byte(block), 0o644))
	require.Contains(t, sh("husk provider build . -o notes.wasm"), "notes 0.1.0")

	// Without types and other imports, a file needs no bundler.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "node_modules", ".bin")))
	require.NoError(t, os.Rename(filepath.Join(dir, "index.ts"), filepath.Join(dir, "index.js")))
	sh("npm pkg set main=index.js")
	require.Contains(t, sh("husk provider build . -o notes.wasm"), "notes 0.1.0")

	// What is wrong is said at the build.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.js"), []byte("import './other.js';\n"), 0o644))
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "husk"), "provider", "build", ".")
	cmd.Dir, cmd.Env = dir, env
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the module has no file ./other.js: the bundle must have all that it imports")
}

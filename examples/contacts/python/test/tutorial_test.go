package contacts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of the tutorial work in turn, and so does its provider.
func TestTutorial(t *testing.T) {
	environment(t, t.TempDir()) // and with it the engine
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial-provider-python.md"))
	require.NoError(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	run(t, root, "go", "build", "-o", filepath.Join(bin, "husk"), "./cmd/husk")

	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir(), "HUSK_PASSPHRASE=correct horse")
	sh := func(command string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		return string(out)
	}
	sh("husk new provider greeter --language python --sdk '" + root + "'")
	dir = filepath.Join(dir, "greeter")
	ran := 0
	for _, line := range strings.Split(string(text), "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok || !strings.HasPrefix(command, "husk ") && !strings.HasPrefix(command, "cd ") || strings.HasPrefix(command, "husk new ") {
			continue
		}
		ran++
		sh(strings.TrimPrefix(command, "cd greeter && "))
	}
	require.Equal(t, 8, ran)

	_, block, found := strings.Cut(string(text), "```python\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "provider.py"), []byte(block), 0o644))
	require.Contains(t, sh("husk provider build . -o notes.wasm"), "notes 0.1.0")
}

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The extension for VS Code starts and ends the language server.
func TestVSCodeExtension(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	const dir = "../../editors/vscode"
	for _, name := range []string{"extension.js", "extension.test.js", "package.json"} {
		_, err := os.ReadFile(filepath.Join(dir, name)) // so that the go command runs the test again after a change
		require.NoError(t, err)
	}
	cmd := exec.Command(node, "--test", "extension.test.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

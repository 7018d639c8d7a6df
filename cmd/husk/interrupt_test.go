package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecondInterruptStopsNow sends interrupts when the command has said that it is
// ready for them, which a script cannot see.
func TestSecondInterruptStopsNow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	dir := t.TempDir()
	lab, err := filepath.Abs("testdata/lab")
	require.NoError(t, err)
	project := fmt.Sprintf(`
name: demo
plugins: {providers: [{name: lab, path: %q, grants: {fs: ["out:rw"]}}]}
resources:
  first:
    type: lab:Wait
    properties: {begun: out/begun, until: out/go}
`, lab)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(project), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	husk := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Args = []string{"husk", "up", "--yes", "-C", dir} // see TestMain
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "HUSK_CACHE_DIR="+filepath.Join(dir, "cache"))
		return cmd
	}

	cmd := husk()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "waiting for out/go") || strings.HasPrefix(lines.Text(), "Stopping: ") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, said.String(), "\nStopping now: what was cut off is reported by the next run.\n")

	// Whether the resource exists is not known, so the next run says so.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "out", "go"), nil, 0o644))
	out, err := husk().Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "warning: lab:Wait first: an earlier run was cut off while creating this resource, which may exist or not")
	require.Contains(t, string(out), "lab:Wait first")
}

package usertest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Watch runs a command that watches files. It calls the next function whenever the command waits for a change, and then interrupts it. It
// adds to said what the command prints.
func Watch(t *testing.T, cmd *exec.Cmd, said *strings.Builder, next ...func()) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	next = append(next, func() { require.NoError(t, cmd.Process.Signal(os.Interrupt)) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "Watching for changes.") {
			require.NotEmpty(t, next, "it ran more often than something changed:\n%s", said)
			next[0]()
			next = next[1:]
		}
	}
	require.NoError(t, cmd.Wait(), "an interrupt is how it ends:\n%s", said)
	require.Empty(t, next)
}

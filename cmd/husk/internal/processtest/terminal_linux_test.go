package processtest

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/terminaltest"
)

// terminalProgram has a resource that waits for the first of the project, and one that waits for that.
const terminalProgram = `
  second:
    type: lab:Thing
    properties: {name: "${first.begun}"}
  third:
    type: lab:Thing
    properties: {name: "${second.name}"}
`

// TestLiveTree updates a stack in a terminal, answers its question, and resizes the terminal while the update goes on.
func TestLiveTree(t *testing.T) {
	x := terminaltest.New(t, 80, 24)
	p := newInterruptible(t, usertest.New(t), terminalProgram)
	cmd := p.husk("up", "--color=always")
	startOn(t, x, cmd)

	x.AwaitText(t, "[yes/No/details]")
	x.Type(t, "yes\n")
	x.AwaitText(t, "lab:Thing third                          waits for lab:Thing second")
	screen := x.AwaitText(t, "1 running, 2 waiting")
	require.Regexp(t, `\n  \+  lab:Wait first                           creating… [\dms.]+\n`, screen)
	require.Regexp(t, `\n  \+  lab:Thing second                         waits for lab:Wait first\n`, screen)

	x.Resize(t, 200, 50)
	x.AwaitText(t, "lab                    waits for lab:Wait first\n")
	x.Resize(t, 40, 12)
	x.AwaitText(t, "waits for lab:…\n")
	x.Resize(t, 80, 24)
	x.AwaitText(t, "lab:Thing second                         waits for lab:Wait first\n")

	p.goOn()
	screen = x.AwaitText(t, "\nDone in ")
	require.NoError(t, cmd.Wait())
	require.Regexp(t, `\n  \+  lab:Thing third +created( [\d.]+ms)?\n`, screen)
	require.NotContains(t, screen, "waits for")
	require.NotContains(t, screen, "creating…")
}

// startOn starts a command in a terminal. It ends with the test at the latest.
func startOn(t *testing.T, x *terminaltest.Terminal, cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.TTY, x.TTY, x.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if it has ended
}

// Whoever pipes or collects the output gets plain lines, each once, and colours only if they ask for them.
func TestPlainLines(t *testing.T) {
	lab := usertest.New(t)
	up := func(environment string, args ...string) string {
		p := newInterruptible(t, lab, terminalProgram)
		p.goOn()
		cmd := p.husk(append([]string{"up", "--yes"}, args...)...)
		cmd.Env = append(cmd.Env, "CLICOLOR_FORCE=", environment)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	for _, environment := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		plain := up(environment)
		require.NotContains(t, plain, "\x1b")
		require.Regexp(t, `(?s)\n  \+  lab:Thing second +created.*\n  \+  lab:Thing third +created`, plain)
		coloured := up(environment, "--color=always")
		require.Contains(t, coloured, "\x1b[32m")
		require.NotContains(t, coloured, "\x1b[?", "nothing is drawn again")
	}

	x := terminaltest.New(t, 80, 24)
	t.Setenv("CI", "true")
	p := newInterruptible(t, lab, terminalProgram)
	p.goOn()
	cmd := p.husk("up", "--yes", "--color=never")
	startOn(t, x, cmd)
	require.NotContains(t, x.AwaitText(t, "\nDone in "), "waits for")
	require.NoError(t, cmd.Wait())
}

//go:build unix

package processtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

func init() {
	interruptTests["a compilation"] = aCompilation
	interruptTests["a compilation of another process"] = aCompilationOfAnotherProcess
}

// newCompiled is a project with a provider that is not in its cache. One of its functions takes a compiler longer than
// anybody waits, and nothing interrupts it there.
func newCompiled(t *testing.T, lab *usertest.User) *interruptible {
	t.Helper()
	p := newInterruptible(t, lab, "")
	p.env = append(p.env, "HUSK_CACHE_DIR="+filepath.Join(p.dir, "cache"))
	module, err := wasmfile.Read(lab.Lab, wasmfile.DefaultLimits())
	require.NoError(t, err)
	const branches = 30_000
	body := "\x00" + strings.Repeat("\x02\x40\x41\x00\x0d\x00\x0b", branches) + "\x00\x0b"
	slow := module.Extend(wasmfile.Extension{Code: make([][]byte, len(module.Bodies)), Functions: []wasmfile.AddedFunction{{Body: []byte(body)}}})
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "lab.wasm"), slow, 0o644))
	return p
}

// compiled returns the files of machine code that were kept.
func (p *interruptible) compiled() []string {
	files, err := filepath.Glob(filepath.Join(p.dir, "cache", "compiled", "*.code"))
	require.NoError(p.t, err)
	return files
}

// One signal ends a command that compiles: nothing of it runs yet, and nothing is left behind.
func aCompilation(t *testing.T, lab *usertest.User) {
	for _, c := range []struct {
		args   []string
		signal os.Signal
	}{
		{[]string{"up", "--yes"}, os.Interrupt},
		{[]string{"up", "--yes", "--skip-preview"}, syscall.SIGTERM},
		{[]string{"preview"}, os.Interrupt},
		{[]string{"preview"}, syscall.SIGTERM},
	} {
		t.Run(strings.Join(c.args, " ")+" "+c.signal.String(), func(t *testing.T) {
			p := newCompiled(t, lab)
			cmd := p.husk(c.args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			said := p.interrupted(cmd, func(line string) {
				if strings.Contains(line, "compiling lab…") {
					require.NoError(t, cmd.Process.Signal(c.signal))
				}
			})
			if c.args[0] == "preview" {
				require.Contains(t, said+stderr.String(), "Stopping: nothing was changed.")
				require.Contains(t, stderr.String(), "error: stopped early; nothing was changed\n")
			}
			require.Contains(t, stderr.String(), "error: stopped early; ")
			require.NotContains(t, said, "compiling lab took", "it was waited for")
			require.Empty(t, p.compiled(), "it was waited for")
			out, err := p.husk("state", "ls").Output()
			if err == nil {
				require.Empty(t, string(out))
			}
		})
	}
}

// Who waits for another process says so, and goes on by itself when that one is interrupted.
func aCompilationOfAnotherProcess(t *testing.T, lab *usertest.User) {
	p := newCompiled(t, lab)
	start := func() (*exec.Cmd, *bufio.Scanner) {
		cmd := p.husk("preview")
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, bufio.NewScanner(stdout)
	}
	until := func(lines *bufio.Scanner, text string) (said string) {
		for lines.Scan() {
			if said += lines.Text() + "\n"; strings.Contains(lines.Text(), text) {
				return said
			}
		}
		t.Fatalf("it did not say %q: %s", text, said)
		return said
	}
	first, firstLines := start()
	until(firstLines, "compiling lab…")
	second, secondLines := start()
	const waits = "waiting for another process that compiles lab"
	require.NotContains(t, until(secondLines, waits+"…"), "  compiling lab")
	require.NoError(t, first.Process.Signal(os.Interrupt))
	p.fails(first, 1)
	said := until(secondLines, "  compiling lab…")
	require.Contains(t, said, waits+" took ")
	require.NotContains(t, said, waits+"…", "it is said once")
	require.NoError(t, second.Process.Signal(os.Interrupt))
	p.fails(second, 1)
	require.Empty(t, p.compiled())
}

package processtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// TestInterrupts runs commands that are sent interrupts, of several kinds, with one module for all.
func TestInterrupts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	// Under nohup, commands would inherit that hang-ups are ignored.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	lab := usertest.New(t)
	for name, test := range interruptTests {
		t.Run(name, func(t *testing.T) { test(t, lab) })
	}
}

// interruptTests are the parts of TestInterrupts. Those with pipes are not for all systems.
var interruptTests = map[string]func(t *testing.T, lab *usertest.User){
	"the first lets steps finish":       firstInterruptLetsStepsFinish,
	"the second stops now":              secondInterruptStopsNow,
	"a closed terminal":                 aClosedTerminal,
	"a hang-up that is ignored":         anIgnoredHangUp,
	"a reader that goes away":           aReaderThatGoesAway,
	"a reader of a list that goes away": aReaderOfAListThatGoesAway,
	"a module that computes for ever":   aModuleThatComputes,
	"a module that waits":               aModuleThatWaits,
}

// interruptible is a project with a resource that waits for the file out/go, and says so, and a
// command that updates it.
type interruptible struct {
	t   *testing.T
	dir string
	env []string
}

func newInterruptible(t *testing.T, lab *usertest.User, more string) *interruptible {
	p := &interruptible{t: t, dir: t.TempDir(), env: append(os.Environ(), lab.Environment...)}
	project := fmt.Sprintf(`
name: demo
plugins: {providers: [{name: lab, path: lab.wasm, grants: {fs: ["out:rw"]}}]}
resources:
  first:
    type: lab:Wait
    properties: {begun: out/begun, until: out/go}
%s`, more)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "Husk.yaml"), []byte(project), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "lab.wasm"), lab.Lab, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "out"), 0o755))
	return p
}

// husk is a command in the project.
func (p *interruptible) husk(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Args = append([]string{"husk", "-C", p.dir}, args...) // see TestMain
	cmd.Env = p.env
	return cmd
}

// goOn has the resource's creation end.
func (p *interruptible) goOn() {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, "out", "go"), nil, 0o644))
}

// interrupted runs an update and calls a function with each line that it prints. It returns all of
// them. The command must fail by itself, and not by a signal.
func (p *interruptible) interrupted(cmd *exec.Cmd, line func(text string)) string {
	p.t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		line(lines.Text())
	}
	p.fails(cmd, 1)
	return said.String()
}

func (p *interruptible) fails(cmd *exec.Cmd, code int) {
	p.t.Helper()
	var exit *exec.ExitError
	require.ErrorAs(p.t, cmd.Wait(), &exit)
	require.Equal(p.t, code, exit.ExitCode())
}

// newInterruptibleModule has a module as the program, which does something by its mode.
func newInterruptibleModule(t *testing.T, lab *usertest.User, mode string) *interruptible {
	p := newInterruptible(t, lab, "")
	for name, content := range map[string]string{
		"Husk.yaml":     "name: demo\nruntime: wasm\nmain: program.wasm\nplugins: {providers: [{name: lab, path: lab.wasm, grants: {fs: [\"out:rw\"]}}]}\n",
		"Husk.dev.yaml": "config: {mode: " + mode + "}\n",
		"program.wasm":  string(testmodule.Build(t, "../../testdata/program")),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o644))
	}
	return p
}

// The first interrupt ends a module that waits, and the step that it waits for finishes.
func aModuleThatWaits(t *testing.T, lab *usertest.User) {
	p := newInterruptibleModule(t, lab, "wait")
	cmd := p.husk("up", "--yes", "--skip-preview")
	said := p.interrupted(cmd, func(line string) {
		switch {
		case strings.Contains(line, "waiting for out/go"):
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		case strings.HasPrefix(line, "Stopping: "):
			p.goOn()
		}
	})
	require.Regexp(t, `lab:Wait waiting +created`, said)
	out, err := p.husk("state", "ls").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "lab:index:Wait::waiting\n")
	require.NotContains(t, string(out), "pending")
}

// A module that never returns is ended by the first interrupt.
func aModuleThatComputes(t *testing.T, lab *usertest.User) {
	p := newInterruptibleModule(t, lab, "loop")
	cmd := p.husk("up", "--yes", "--skip-preview")
	said := p.interrupted(cmd, func(line string) {
		if strings.Contains(line, "computing") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	})
	require.Contains(t, said, "\nStopped after ")
}

// What is running finishes and is recorded, and nothing else begins.
func firstInterruptLetsStepsFinish(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, second)
	cmd := p.husk("up", "--yes")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said := p.interrupted(cmd, func(line string) {
		switch {
		case strings.Contains(line, "waiting for out/go"):
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		case strings.HasPrefix(line, "Stopping: "):
			p.goOn()
		}
	})
	require.Contains(t, said, "\nStopping: waiting for running steps to finish. Press Ctrl-C again to stop now.\n")
	require.Regexp(t, `lab:Wait first +created`, said)
	require.NotRegexp(t, `second +created`, said)
	require.Regexp(t, `\nStopped after .*: 2 created\.\n`, said)
	require.Contains(t, stderr.String(), "error: stopped early; completed steps are recorded, and the next run continues from there\n")
	p.nothingPending()

	out, err := p.husk("up", "--yes").Output()
	require.NoError(t, err)
	require.Regexp(t, `lab:Thing second +created`, string(out))
	require.Regexp(t, `\nDone in .*: 1 created, 2 unchanged\.\n`, string(out))
}

// The interrupts are sent when the command has said that it is ready for them, which a script
// cannot see.
func secondInterruptStopsNow(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, "")
	cmd := p.husk("up", "--yes")
	said := p.interrupted(cmd, func(line string) {
		if strings.Contains(line, "waiting for out/go") || strings.HasPrefix(line, "Stopping: ") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	})
	require.Contains(t, said, "\nStopping now: the next run reports what was interrupted.\n")

	// Whether the resource exists is not known, so the next run says so.
	p.goOn()
	out, err := p.husk("up", "--yes").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "warning: lab:Wait first: an earlier run was cut off while creating this resource, which may exist or not")
	require.Contains(t, string(out), "lab:Wait first")
}

const second = `
  second:
    type: lab:Thing
    properties: {name: second}
    options: {dependsOn: ["${first}"]}
`

// A terminal that is closed is a first interrupt, and never a second: the shell that ran in it sends
// the signal as well.
func aClosedTerminal(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, second)
	cmd := p.husk("up", "--yes")
	said := p.interrupted(cmd, func(line string) {
		switch {
		case strings.Contains(line, "waiting for out/go"):
			require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		case strings.HasPrefix(line, "Stopping: "):
			require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
			p.goOn()
		}
	})
	require.NotContains(t, said, "Stopping now")
	require.Regexp(t, `lab:Wait first +created`, said)
	require.NotRegexp(t, `lab:Thing second +created`, said)
	p.nothingPending()
}

// nothingPending holds that the first resource is recorded, and that nothing was cut off.
func (p *interruptible) nothingPending() {
	p.t.Helper()
	var stderr strings.Builder
	cmd := p.husk("state", "ls")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(p.t, err)
	require.Contains(p.t, string(out), "lab:index:Wait::first\n")
	require.NotContains(p.t, string(out), "second")
	require.Empty(p.t, stderr.String())
}

// Whoever began with nohup wants the command to outlive the terminal.
func anIgnoredHangUp(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, second)
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skip("there is no nohup")
	}
	// nohup runs the test binary, which goes by its name: see TestMain.
	husk := filepath.Join(t.TempDir(), "husk")
	require.NoError(t, os.Symlink(os.Args[0], husk))
	cmd := p.husk("up", "--yes")
	cmd.Path, cmd.Args = nohup, append([]string{"nohup", husk}, cmd.Args[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.Contains(lines.Text(), "waiting for out/go") {
			require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
			p.goOn()
		}
	}
	require.NoError(t, cmd.Wait(), stderr.String())
}

// A reader that goes away, such as head, ends the command like an interrupt: what runs finishes, and
// is recorded.
func aReaderThatGoesAway(t *testing.T, lab *usertest.User) {
	for _, flag := range []string{"--diff", "--json"} {
		t.Run(flag, func(t *testing.T) {
			p := newInterruptible(t, lab, second)
			cmd := p.husk("up", "--yes", flag)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				if strings.Contains(lines.Text(), "waiting for out/go") {
					break
				}
			}
			require.NoError(t, stdout.Close())
			p.goOn()
			p.fails(cmd, 1)
			require.Contains(t, stderr.String(), "Stopping: waiting for running steps to finish.")
			require.NotContains(t, stderr.String(), "broken pipe")
			p.nothingPending()
		})
	}
}

// A command that only shows something ends without a word when nobody reads it.
func aReaderOfAListThatGoesAway(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, "")
	p.goOn()
	require.NoError(t, p.husk("up", "--yes").Run())
	for _, args := range [][]string{{"state", "ls"}, {"stack", "export"}, {"stack", "ls", "--json"}} {
		in, out, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, in.Close())
		cmd := p.husk(args...)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = out, &stderr
		require.NoError(t, cmd.Start())
		require.NoError(t, out.Close())
		p.fails(cmd, 1)
		require.Empty(t, stderr.String())
	}
}

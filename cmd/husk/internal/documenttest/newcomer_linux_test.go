package documenttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/terminaltest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// newcomer is somebody in the first hour, at a terminal of 80 columns.
type newcomer struct {
	t   *testing.T
	x   *terminaltest.Terminal
	dir string
	env []string
	// shows counts the screens.
	shows int
}

func newNewcomer(t *testing.T) *newcomer {
	testmodule.Skip(t)
	x := terminaltest.New(t, 80, 50)
	u := usertest.New(t)
	n := &newcomer{t: t, x: x, dir: t.TempDir()}
	// The test binary goes by the name of husk: see TestMain.
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "husk")))
	path := bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	n.env = append(append(os.Environ(), u.Environment...), "PATH="+path, "PS1=", "HUSK_CONFIG_PASSPHRASE=newcomer")
	return n
}

// types types a command, answers its questions in order, and returns the screen after it has ended. Each question is what
// the screen shows before the answer.
func (n *newcomer) types(command string, answers ...[2]string) string {
	n.t.Helper()
	cmd := exec.Command("sh", "-c", "clear; "+command)
	cmd.Dir, cmd.Env = n.dir, n.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = n.x.TTY, n.x.TTY, n.x.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(n.t, cmd.Start())
	n.t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if it has ended
	for _, a := range answers {
		n.x.AwaitText(n.t, a[0])
		n.x.Type(n.t, a[1])
	}
	err := cmd.Wait()
	screen := n.shown()
	require.NoError(n.t, err, "%s\n%s", command, screen)
	for line := range strings.Lines(screen) {
		require.LessOrEqual(n.t, len([]rune(strings.TrimRight(line, "\n"))), 80)
	}
	return screen
}

// shown returns the screen after what was written before has arrived on it.
func (n *newcomer) shown() string {
	n.t.Helper()
	// The screen may still show the mark of the command before.
	n.shows++
	mark := fmt.Sprintf("--end of the command %d--", n.shows)
	_, err := n.x.TTY.WriteString("\r\n" + mark)
	require.NoError(n.t, err)
	screen, _, _ := strings.Cut(n.x.AwaitText(n.t, mark), mark)
	return screen
}

func (n *newcomer) edit(name, old, new string) {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	text, err := os.ReadFile(path)
	require.NoError(n.t, err)
	require.Contains(n.t, string(text), old)
	require.NoError(n.t, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644))
}

// An operator begins with a template, deploys it, changes it, looks at the difference, and cleans up.
func TestFirstHourOfAnOperator(t *testing.T) {
	n := newNewcomer(t)
	require.Contains(t, n.types("husk new"), "quickstart  a project with two providers\n")
	require.Contains(t, n.types("husk new quickstart shop"), "\n  cd shop\n  husk preview\n  husk up\n")
	n.dir = filepath.Join(n.dir, "shop")
	require.Contains(t, n.types("husk validate"), "The program is valid for the stack dev.\n")
	require.Contains(t, n.types("husk preview"), ": 3 to create.\n")

	const question = "Make these changes? [yes/No/details]"
	require.Contains(t, n.types("husk up", [2]string{question, "yes\n"}), ": 3 created.\n")
	require.Contains(t, n.types("cat out/greeting.txt"), "Hello from ")
	require.Contains(t, n.types("husk stack"), "└─ random:RandomPet name\n")

	// A mistake, with its line and its remedy.
	n.edit("Husk.yaml", "content: |", "contents: |")
	require.Contains(t, n.types("husk validate || true"), "mean \"content\"?\n")
	n.edit("Husk.yaml", "contents: |", "content: |")

	// A change, looked at before it is made.
	n.types("husk config set greeting Hi")
	screen := n.types("husk up", [2]string{question, "details\n"}, [2]string{"+Hi from ", "yes\n"})
	require.Regexp(t, `-Hello from .*!\n +\+Hi from .*!\n`, screen)
	require.Contains(t, screen, ": 1 updated, 2 unchanged.\n")
	require.Contains(t, n.types("husk stack history"), "  up    1 updated\n")
	require.Contains(t, n.types("husk graph -o stack.svg"), "Drew 2 resources")
	require.FileExists(t, filepath.Join(n.dir, "stack.svg"))

	// A replacement is said last, before the question. No is no.
	screen = n.types("husk up --replace '**::name' || true", [2]string{question, "no\n"})
	require.Regexp(t, `(?s)\nWill be deleted or replaced:\n  \+- random:RandomPet name +replace.*not confirmed: nothing was changed\n`, screen)
	require.Contains(t, n.types("husk destroy", [2]string{"[yes/No/details]", "yes\n"}), ": 3 deleted.\n")
	require.NoFileExists(t, filepath.Join(n.dir, "out", "greeting.txt"))
}

// An author begins with a template, tests it, uses it, and changes it.
func TestFirstHourOfAnAuthor(t *testing.T) {
	n := newNewcomer(t)
	require.Contains(t, n.types("husk new provider greeter"), "\n  husk provider test .\n")
	n.dir = filepath.Join(n.dir, "greeter")
	require.Contains(t, n.types("go test ./..."), "ok  \texample.com/greeter"[:2])
	require.Contains(t, n.types("husk provider test . --generated 1"), " 0 failed")
	require.Contains(t, n.types("husk provider show . Greeting"), "  mark                  string, default \"!\", one of \"!\", \"?\", \".\"\n")
	require.Contains(t, n.types("husk up --yes -C example"), "  text: Hello, World!\n")

	// A test notices a change that it does not expect, and a run uses the change.
	n.edit("greeting.go", `"Hello, "`, `"Welcome, "`)
	require.Contains(t, n.types("go test ./... || true"), `text: want "Hello, World!", got "Welcome, World!"`)
	n.edit("example/Husk.yaml", "name: World", "name: Moon")
	require.Contains(t, n.types("husk up --yes -C example"), "  text: Welcome, Moon!\n")

	// A panic names the line of the author.
	n.edit("greeting.go", "\treturn GreetingState{in,", "\tvar texts []string\n\t_ = texts[len(in.Name)]\n\treturn GreetingState{in,")
	n.edit("example/Husk.yaml", "name: Moon", "name: Sun")
	screen := n.types("husk up --yes -C example || true")
	require.Contains(t, screen, "index out of range [3] with length 0")
	require.Contains(t, screen, "greeting.go:")
	require.Contains(t, n.types("husk provider build . -o greeter.wasm || true"), "greeter 0.1.0: greeter.wasm")
	n.types("husk destroy --yes -C example")
}

// Whoever hosts providers of others looks at what they ask for, grants as little as possible, and sees what is refused.
func TestFirstHourOfAHost(t *testing.T) {
	n := newNewcomer(t)
	n.types("husk new quickstart tenant")
	n.dir = filepath.Join(n.dir, "tenant")
	require.Contains(t, n.types("husk provider inspect providers/local.wasm | head -20"), "fs")
	require.Contains(t, n.types("husk provider audit"), "local")

	// Without the grant nothing is written, and the error says what to add.
	n.edit("Husk.yaml", "      grants:\n        fs:\n          - path: out # this directory and nothing else\n            mode: rw\n", "")
	screen := n.types("husk up --yes || true")
	require.Contains(t, screen, "- path: out")
	require.NoDirExists(t, filepath.Join(n.dir, "out"))

	// The least grants are learned from a run, and are all that is needed.
	n.types("husk up --yes --learn-grants grants.yaml --grant local:fs=out:rw")
	learned, err := os.ReadFile(filepath.Join(n.dir, "grants.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(learned), "        fs:\n          - out:rw\n")
	require.Contains(t, n.types("husk doctor"), "  project      ")
	require.Contains(t, n.types("husk destroy --yes --grant local:fs=out:rw"), ": 3 deleted.\n")
}

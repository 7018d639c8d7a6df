package contactstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run runs a program in a directory, and returns its output.
func Run(t testing.TB, dir, name string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}

// Tutorial is the tutorial of a language, with the provider that its commands make.
type Tutorial struct {
	// Dir is the directory of the provider.
	Dir  string
	t    testing.TB
	text string
	env  []string
}

// NewTutorial builds husk from the checkout in root, and runs the commands of the tutorial in turn. It requires how many there are.
func NewTutorial(t testing.TB, root, language string, commands int) *Tutorial {
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial-provider-"+language+".md"))
	require.NoError(t, err)
	bin := t.TempDir()
	Run(t, root, "go", "build", "-o", filepath.Join(bin, "husk"), "./cmd/husk")

	tutorial := &Tutorial{
		Dir: t.TempDir(), t: t, text: string(text),
		env: append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir(), "HUSK_PASSPHRASE=correct horse"),
	}
	tutorial.Sh("husk new provider greeter --language " + language + " --sdk '" + root + "'")
	tutorial.Dir = filepath.Join(tutorial.Dir, "greeter")
	ran := 0
	for _, line := range strings.Split(tutorial.text, "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok || !strings.HasPrefix(command, "husk ") && !strings.HasPrefix(command, "npm ") && !strings.HasPrefix(command, "cd ") || strings.HasPrefix(command, "husk new ") {
			continue
		}
		ran++
		tutorial.Sh(strings.TrimPrefix(command, "cd greeter && "))
	}
	require.Equal(t, commands, ran)
	return tutorial
}

// Command returns a command of the shell in the directory of the provider.
func (u *Tutorial) Command(command string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = u.Dir, u.env
	return cmd
}

// Sh runs a command of the shell, and returns its output.
func (u *Tutorial) Sh(command string) string {
	out, err := u.Command(command).CombinedOutput()
	require.NoError(u.t, err, "%s\n%s", command, out)
	return string(out)
}

// Builds requires that the provider notes, which the blocks of a language in the text are, builds as a file.
func (u *Tutorial) Builds(language, file string) {
	var program strings.Builder
	for _, block := range strings.Split(u.text, "```"+language+"\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		program.WriteString(block)
	}
	require.NotZero(u.t, program.Len())
	require.NoError(u.t, os.WriteFile(filepath.Join(u.Dir, file), []byte(program.String()), 0o644))
	require.Contains(u.t, u.Sh("husk provider build . -o notes.wasm"), "notes 0.1.0")
}

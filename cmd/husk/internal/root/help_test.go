package root

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

func testCommand() *cobra.Command {
	return command(newApp(os.Stdin, os.Stdout, os.Stderr, parts.All()))
}

// visit calls f with each command that users see.
func visit(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			visit(sub, f)
		}
	}
}

// Each command of the root is in a group of its help, and each command has examples that it accepts.
func TestExamples(t *testing.T) {
	root := testCommand()
	for _, cmd := range root.Commands() {
		require.NotEmpty(t, cmd.GroupID, "%s is in no group of the help", cmd.Name())
	}
	known := map[string]bool{}
	visit(root, func(cmd *cobra.Command) {
		known[cmd.CommandPath()] = true
		require.NotEmpty(t, examples[cmd.CommandPath()], "%s has no example", cmd.CommandPath())
	})
	for path, lines := range examples {
		require.True(t, known[path], "there is no command %s", path)
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			text, does, ok := strings.Cut(line, "  ")
			require.True(t, ok && does != "", "the example %q does not say what it does", line)
			requireAccepted(t, text)
		}
	}
}

// requireAccepted checks that a command line has the flags and arguments of its command.
func requireAccepted(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " > ")
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, "'"))
	}
	cmd, rest, err := testCommand().Find(words[1:])
	require.NoError(t, err, line)
	require.NoError(t, cmd.ParseFlags(rest), line)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
}

// No line of a help text is longer than the terminal is wide, unless it is one word or an example.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, columns := range []int{60, 80, 120} {
		visit(testCommand(), func(cmd *cobra.Command) {
			for line := range strings.SplitSeq(helpText(cmd, columns), "\n") {
				if len(strings.Fields(line)) > 2 && !strings.HasPrefix(strings.TrimSpace(line), "husk ") && !strings.HasPrefix(line, " ") {
					require.LessOrEqual(t, len([]rune(line)), columns, "%s: %s", cmd.CommandPath(), line)
				}
			}
		})
	}
}

// docs/commands.md has the help of every command. Run this test with -update after a change of one.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\nThe help of every command. The first one has the flags of all commands.\n")
	visit(testCommand(), func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		text, _, _ := strings.Cut(helpText(cmd, 100), "\nFlags of all commands:\n")
		b.WriteString("\n## " + cmd.CommandPath() + "\n\n```text\n" + text + "```\n")
	})
	const name = "../../../../docs/commands.md"
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(text), b.String(), "run go test ./cmd/husk/internal/root -update")
}

// A flag that takes a text says what it is: a file only where it takes one.
func TestValuesOfFlagsHaveNames(t *testing.T) {
	visit(testCommand(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, value, _ := describe(f)
			require.True(t, f.NoOptDefVal != "" || value != "", "%s --%s: name its value in back quotes, or in valueNames", cmd.CommandPath(), f.Name)
			if value == "FILE" {
				require.Contains(t, strings.ToLower(f.Usage), "file", "%s --%s takes no file: name its value", cmd.CommandPath(), f.Name)
			}
		})
	})
}

// Man pages have no request of roff that comes from a text, and name each flag.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	n, err := writeManPages(testCommand(), dir)
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	require.Len(t, pages, n)
	require.Greater(t, n, 50)
	requests := regexp.MustCompile(`(?m)^\.(\S+)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range requests.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, []string{"TH", "SH", "TP", "PP", "B", "BR", "nf", "fi"}, found[1], page)
		}
		require.NotRegexp(t, `(?m)^'`, string(text), page)
	}
	up, err := os.ReadFile(filepath.Join(dir, "husk-up.1"))
	require.NoError(t, err)
	require.Contains(t, string(up), "\n\\fB\\-y, \\-\\-yes\\fR \nproceed without confirmation")
	require.Contains(t, string(up), "husk up \\-\\-target \\(aq**::web\\(aq")
}

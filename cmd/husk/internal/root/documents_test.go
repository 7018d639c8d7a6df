package root

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// inlineCommand is a command in the text of a document.
var inlineCommand = regexp.MustCompile("`(husk [^`\n]*)`")

// The commands and flags that README.md and docs mention in their text exist. A test of cmd/husk runs
// those in code blocks.
func TestDocumentsMentionCommandsThatExist(t *testing.T) {
	root := command(newApp(os.Stdin, os.Stdout, os.Stderr, parts.All()))
	names, err := filepath.Glob("../../../../docs/*.md")
	require.NoError(t, err)
	mentioned := 0
	for _, name := range append(names, "../../../../README.md", "../../../../CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range inlineCommand.FindAllStringSubmatch(string(text), -1) {
			for _, alternative := range alternatives(strings.Fields(found[1])[1:]) {
				mentioned++
				requireExists(t, root, alternative, filepath.Base(name)+": "+found[1])
			}
		}
	}
	require.Greater(t, mentioned, 50)
}

// alternatives expands a word like init/ls/select.
func alternatives(words []string) [][]string {
	for i, word := range words {
		if regexp.MustCompile(`^[a-z]+(/[a-z]+)+$`).MatchString(word) {
			var all [][]string
			for one := range strings.SplitSeq(word, "/") {
				all = append(all, append(append([]string{}, words[:i]...), one))
			}
			return all
		}
	}
	return [][]string{words}
}

func requireExists(t *testing.T, root *cobra.Command, words []string, mention string) {
	t.Helper()
	cmd, rest, err := root.Find(words)
	require.NoError(t, err, mention)
	for _, word := range rest {
		flag, isFlag := strings.CutPrefix(strings.Trim(word, "[]"), "--")
		flag, _, _ = strings.Cut(flag, "=")
		if isFlag {
			require.NotNil(t, cmd.Flag(flag), "%s: there is no flag --%s", mention, flag)
		}
	}
	if cmd.HasSubCommands() && len(rest) > 0 {
		require.NotRegexp(t, `^[a-z]`, rest[0], "%s: there is no such command", mention)
	}
}

const top = "../../../../"

// testNames returns the names of all tests in the project.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(source, -1) {
			tests[string(found[1])] = true
		}
		return err
	}))
	return tests
}

// Each row of docs/comparison.md names a test that there is.
func TestComparison(t *testing.T) {
	text, err := os.ReadFile(top + "docs/comparison.md")
	require.NoError(t, err)
	tests := testNames(t)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 5 || !strings.HasSuffix(line, "` |\n") {
			continue
		}
		rows++
		name := strings.Trim(cells[4], "` |")
		if script, ok := strings.CutPrefix(name, "script/"); ok {
			require.FileExists(t, top+"cmd/husk/testdata/script/"+script+".txtar", line)
		} else {
			require.True(t, tests[name], line)
		}
		require.False(t, cells[1] == "no" && cells[2] != "no" && cells[3] != "no", "both others have it: %s", line)
	}
	require.GreaterOrEqual(t, rows, 45)
}

// Each row of docs/pulumi-yaml.md names a test that there is, and the functions and options of programs have rows, and no others.
func TestTheItemsOfPulumiYAML(t *testing.T) {
	text, err := os.ReadFile(top + "docs/pulumi-yaml.md")
	require.NoError(t, err)
	tests := testNames(t)
	names := map[string]bool{}
	rows, section := 0, ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) != 4 || !strings.HasSuffix(line, "` |\n") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows++
		require.Contains(t, []string{"yes", "more", "no effect", "refused"}, cells[1], line)
		if cells[1] == "refused" {
			require.Contains(t, cells[2], "`", "the error is named: %s", line)
		}
		name := strings.Trim(cells[3], "`")
		if script, ok := strings.CutPrefix(name, "script/"); ok {
			require.FileExists(t, top+"cmd/husk/testdata/script/"+script+".txtar", line)
		} else {
			require.True(t, tests[name], line)
		}
		names[section+" "+strings.Trim(cells[0], "`")] = true
	}
	require.GreaterOrEqual(t, rows, 85)
	root := projectschema.Root()
	for name := range root.Definitions["functions"].Properties {
		require.True(t, names["Functions "+name], "the function %s has no row", name)
	}
	for name := range root.Definitions["options"].Properties {
		require.True(t, names["Options of resources "+name], "the option %s has no row", name)
	}
}

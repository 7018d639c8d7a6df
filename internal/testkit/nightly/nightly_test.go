package nightly_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/nightly"
)

var update = flag.Bool("update", false, "write the table into CONTRIBUTING.md")

const (
	document = "../../../CONTRIBUTING.md"
	scripts  = "../../../cmd/husk/testdata/script"
	head     = "| waits for `.ci/nightly` | why | what runs with every change |\n| --- | --- | --- |\n"
)

func TestContributorsSeeWhatWaits(t *testing.T) {
	table := head
	for _, c := range nightly.Checks {
		name := c.Name
		if strings.ContainsAny(name, ":/") {
			name = "`" + name + "`"
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", name, c.Reason, c.Short)
	}
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), head)
	require.True(t, found, "%s has no table of what waits", document)
	for strings.HasPrefix(rest, "|") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+table+rest), 0o644))
		return
	}
	require.Equal(t, before+table+rest, string(text), "go test ./internal/testkit/nightly -update writes the table")
}

// What waits is there, and nothing waits that is not in the list.
func TestTheListIsWhatWaits(t *testing.T) {
	ci := sources(t, "../../../.ci/run")
	var tests, waiting, steps []string
	for _, c := range nightly.Checks {
		require.NotEmpty(t, c.Reason, c.Name)
		require.NotEmpty(t, c.Short, c.Name)
		folder, test, isTest := strings.Cut(c.Name, ":")
		script, isScript := strings.CutPrefix(c.Name, "script/")
		if !isScript {
			script = ""
		}
		if c.Short == nightly.OwnStep {
			require.Regexp(t, `\b`+test+script+`\b`, ci, ".ci/run has a step of its own for it")
		}
		switch {
		case isScript:
			waiting = append(waiting, script)
		case isTest:
			tests = append(tests, c.Name)
			require.Contains(t, sources(t, filepath.Join("../../..", folder, "*_test.go")), "\nfunc "+test+"(t *testing.T) {", c.Name)
		default:
			steps = append(steps, c.Name)
		}
	}

	text, err := os.ReadFile("../../../.ci/nightly")
	require.NoError(t, err)
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^step "(.*)"$`).FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1])
	}
	require.ElementsMatch(t, found, steps, "the steps of .ci/nightly")

	all, err := filepath.Glob(scripts + "/*.txtar")
	require.NoError(t, err)
	found = nil
	for _, file := range all {
		if strings.Contains(sources(t, file), "[!nightly]") {
			found = append(found, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		}
	}
	require.ElementsMatch(t, found, waiting, "the scripts in "+scripts)

	// Each folder of a listed test has a test that asks, and only these do.
	folders := map[string]bool{}
	for _, name := range tests {
		folder, _, _ := strings.Cut(name, ":")
		folders[folder] = true
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	asking := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || folder == "internal/testkit/nightly" {
			return nil
		}
		if regexp.MustCompile(`\bnightly\.(Skip|Enabled)\(`).MatchString(sources(t, path)) {
			asking[folder] = true
		}
		return nil
	}))
	require.Equal(t, folders, asking)
}

// sources returns the text of files.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

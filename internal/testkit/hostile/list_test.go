package hostile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is one line of the list in the README.
var row = regexp.MustCompile(`(?m)^\| (\d+) \| .+ \| (.*) \| (.*) \|$`)

var (
	linked = regexp.MustCompile(`\]\(([^)]+)\)`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// TestTheListIsCovered holds the list to what there is: each line has a module or test,
// the modules are under the lines that they name, and everything that is named exists.
func TestTheListIsCovered(t *testing.T) {
	const lines, least = 45, 60
	readme, err := os.ReadFile(filepath.Join(corpus, "README.md"))
	require.NoError(t, err)
	listed := map[int][]string{}
	inputs := map[string]bool{}
	for _, columns := range row.FindAllStringSubmatch(string(readme), -1) {
		line, err := strconv.Atoi(columns[1])
		require.NoError(t, err)
		require.NotEmpty(t, columns[2]+columns[3], "nothing is for line %d", line)
		listed[line] = nil
		for _, file := range linked.FindAllStringSubmatch(columns[2], -1) {
			require.FileExists(t, filepath.Join(corpus, file[1]))
			if strings.HasPrefix(file[1], "inputs/") {
				inputs[file[1]] = true
			} else {
				listed[line] = append(listed[line], file[1])
			}
		}
		for _, test := range quoted.FindAllStringSubmatch(columns[3], -1) {
			file, name, _ := strings.Cut(test[1], " ")
			text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)))
			require.NoError(t, err)
			if name != "" {
				require.Contains(t, string(text), "func "+name+"(", file)
			}
		}
	}
	require.Len(t, listed, lines)
	want := map[int][]string{}
	corpus := entries(t)
	for _, e := range corpus {
		for _, line := range e.lines {
			want[line] = append(want[line], e.file)
		}
	}
	for line := range lines + 1 {
		slices.Sort(want[line])
		slices.Sort(listed[line])
		require.Equal(t, want[line], listed[line], "line %d", line)
	}
	require.GreaterOrEqual(t, len(corpus)+len(inputs), least)
}

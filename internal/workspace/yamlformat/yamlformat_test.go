package yamlformat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program/source"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, in, out string }{
		{"indentation", "a:\n    b:\n        - c\n        -   d\n", "a:\n  b:\n    - c\n    - d\n"},
		{"blank lines", "\n\na: 1\n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n"},
		{"spaces at the ends", "a: 1  \nb:   2\t\n", "a: 1\nb: 2\n"},
		{"line ends of Windows", "a: 1\r\n\r\nb: 2\r\n", "a: 1\n\nb: 2\n"},
		{"no line end", "a: 1", "a: 1\n"},
		{"comments", "# top\n\na: 1 # one\n# of b\nb:\n    # of c\n    c: 2\n\n# end\n", "# top\n\na: 1 # one\n# of b\nb:\n  # of c\n  c: 2\n\n# end\n"},
		{"flow and quotes", "a: {b: 'x', c: \"y\"}\nd: [1,2]\n", "a: {b: 'x', c: \"y\"}\nd: [1, 2]\n"},
		{"texts", "a: |\n    one\n\n\n      two\nb: >-\n    three\n\n    four\n\n\nc: 1\n", "a: |\n  one\n\n\n    two\nb: >-\n  three\n\n  four\n\nc: 1\n"},
		{"blank lines between elements", "a:\n  - b: 1\n\n  - b: 2\n\n\n    c: 3\n", "a:\n  - b: 1\n\n  - b: 2\n\n    c: 3\n"},
		{"long lines", "a: word word word word word word word word word word word word word word word word word word word word word word word word\n", "a: word word word word word word word word word word word word word word word word word word word word word word word word\n"},
		{"references", "a: ${b.c} \nd: \"${e}\"\n", "a: ${b.c}\nd: \"${e}\"\n"},
		{"emoji", "a:   😀 \uE000 💡 # 💡\nb: \"\\U0001F600\"\n", "a: 😀 \uE000 💡 # 💡\nb: \"\\U0001F600\"\n"},
		{"nothing", "", ""},
	} {
		got, err := Format([]byte(c.in))
		require.NoError(t, err, c.name)
		require.Equal(t, c.out, string(got), c.name)
		again, err := Format(got)
		require.NoError(t, err, c.name)
		require.Equal(t, c.out, string(again), c.name+", again")
	}
	for in, want := range map[string]string{
		"a: [":                                  "did not find",
		"a: 1\n---\nb: 2":                       "more than one document",
		blank + "\na: 1":                        "stands for a blank line",
		strings.Repeat("\n", source.MaxParts+1): "lines, entries, and comments",
	} {
		_, err := Format([]byte(in))
		require.ErrorContains(t, err, want)
	}
}

// The project files of this repository have the one form, or keep their meaning in it.
func TestProjectsOfThisRepository(t *testing.T) {
	formatted := 0
	for _, pattern := range []string{"../../../examples/*/Husk.yaml", "../../../testdata/*/*/Husk.yaml"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			got, err := Format(text)
			require.NoError(t, err, name)
			again, err := Format(got)
			require.NoError(t, err, name)
			require.Equal(t, string(got), string(again), name)
			formatted++
		}
	}
	require.NotZero(t, formatted)
}

func FuzzFormat(f *testing.F) {
	for _, text := range []string{"a: 1\n\nb: [x, 'y']\n", "a: |\n  x\n\n  y\n", "- a\n\n\n- b: \"x\n\n  y\"\n", "# c\na: &x 1\nb: *x\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := Format([]byte(text))
		if err != nil {
			return
		}
		before, err := parse([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
		require.NoError(t, err)
		after, err := parse(once)
		require.NoError(t, err)
		if before != nil {
			require.True(t, sameValues(before, after))
		}
	})
}

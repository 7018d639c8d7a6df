package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every mistake is told with its place and what to do, whatever the YAML parser
// calls it.
func TestSyntaxErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"key indented less than its siblings": {
			"resources:\n  pet:\n    type: random:RandomPet\n   properties:\n      length: 2\n", `
f.yaml:4:4: this line is indented by 3 spaces, which fits no line above it
    4 |    properties:
      |    ^
  indent it like the line that it belongs beside: by 2 spaces or by 4 spaces`},
		"key indented more than its siblings": {
			"resources:\n  pet:\n    type: random:RandomPet\n     properties:\n      length: 2\n", `
f.yaml:4:6: this line is indented deeper than the line above it, which has a value already
    4 |      properties:
      |      ^
  to stand beside type, indent it by 4 spaces`},
		"list item indented less than its siblings": {
			"a:\n  - b\n - c\n", `
f.yaml:3:2: this line is indented by 1 space, which fits no line above it
    3 |  - c
      |  ^
  indent it like the line that it belongs beside: by 0 spaces or by 2 spaces`},
		"key under a list item's value": {
			"a:\n- b: c\n- d: 1\n   e: 2\n", `
f.yaml:4:4: this line is indented deeper than the line above it, which has a value already
    4 |    e: 2
      |    ^
  to stand beside d, indent it by 2 spaces`},
		"text that leaves a block scalar": {
			"a: |\n  foo\n bar\nb: 1\n", `
f.yaml:3:2: this line is indented less than the text that begins above it
    3 |  bar
      |  ^`},
		"no-break spaces before a key": {
			"a:\n  b: 1\n\u00a0\u00a0c: 1\n   d: 1\n", `
f.yaml:3:1: this line is indented with a character that is not a space in YAML
    3 |   c: 1
      | ^
  the character U+00A0 is not a space for YAML: write a space in its place`},
		"UTF-16": {
			"\xff\xfea\x00:\x00", "\nf.yaml: the file is UTF-16 text: save it as UTF-8"},
		"tab": {
			"a:\n\tb: 1\n", `
f.yaml:2:1: YAML is indented with spaces, but this line is indented with a tab
    2 | 	b: 1
      | ^
  replace the tab with spaces, two for each level`},
		"tab after spaces": {
			"a:\n  b: 1\n  \tc: 1\n", `
f.yaml:3:3: YAML is indented with spaces, but this line is indented with a tab
    3 |   	c: 1
      |   ^
  replace the tab with spaces, two for each level`},
		"colon in a value": {
			"a:\n  b: see: this\n", `
f.yaml:2:9: a value that contains a colon and a space must be quoted
    2 |   b: see: this
      |         ^
  or the second key belongs on a line of its own`},
		"list beside its key": {
			"a: - b\n", `
f.yaml:1:4: a list begins on the line below its key, not beside it
    1 | a: - b
      |    ^`},
		"key without a colon": {
			"a:\n  b\n  c: 1\n", `
f.yaml:2:3: this line is neither "key: value" nor a list item
    2 |   b
      |   ^
  write a colon and a space behind the key`},
		"open double quote": {
			"a: \"foo\nb: 1\n", `
f.yaml:1:4: the text that begins here has no closing "
    1 | a: "foo
      |    ^`},
		"open single quote": {
			"a:\n  b: 'foo # no comment\nb: 1\n", `
f.yaml:2:6: the text that begins here has no closing '
    2 |   b: 'foo # no comment
      |      ^`},
		"open bracket": {
			"a: 1\nb: [1, 2\nc: 1\n", `
f.yaml:2:4: the [ that begins here is not closed, or a comma is missing
    2 | b: [1, 2
      |    ^`},
		"expression in braces": {
			"a: {fn::secret: ${y}}\n", `
f.yaml:1:17: an expression inside [ ] or { } must be quoted
    1 | a: {fn::secret: ${y}}
      |                 ^
  write "${...}" with the quotes`},
		"text that begins with a reserved character": {
			"a: 1\nb: @foo\n", `
f.yaml:2:4: text that begins with @ must be quoted
    2 | b: @foo
      |    ^`},
		"alias without an anchor": {
			"a:\n  b: *.txt\n", `
f.yaml:2:6: text that begins with * must be quoted
    2 |   b: *.txt
      |      ^`},
		"alias of nothing": {
			"a:\n  b: *all\n", `
f.yaml:2:6: the alias *all has no anchor &all before it
    2 |   b: *all
      |      ^
  text that begins with * must be quoted`},
		"unknown escape": {
			"a: \"C:\\q\"\n", `
f.yaml:1:7: \q means nothing between double quotes
    1 | a: "C:\q"
      |       ^
  write \\ for a backslash, or use single quotes`},
		"not UTF-8": {
			"a: 1\nb: x\xffy\n", `
f.yaml:2:5: the file is not UTF-8 text: it has the byte 0xff here`},
		"control character": {
			"a: 1\nb: x\x00y\n", `
f.yaml:2:5: the file has the control character U+0000 here; remove it`},
		"second document": {
			"a: 1\n---\nb: 2\n", `
f.yaml:2:1: a second YAML document begins here; put everything in one
    2 | ---
      | ^`},
		"alias of itself": {
			"a: &x [*x]\n", `
f.yaml:1:8: the alias *x stands for something that contains it
    1 | a: &x [*x]
      |        ^`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(NewFile("f.yaml", []byte(c.text)), []byte(c.text))
			require.Error(t, err)
			require.IsType(t, Diagnostics{}, err)
			got := err.Error()
			if strings.Count(c.want, "\n") == 1 { // the excerpt would hold what cannot be shown
				got, _, _ = strings.Cut(got, "\n")
			}
			require.Equal(t, strings.TrimPrefix(c.want, "\n"), got)
		})
	}
}

func TestParseBounds(t *testing.T) {
	t.Run("alias bomb", func(t *testing.T) {
		var b strings.Builder
		b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
		for i := 1; i < 10; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
		}
		_, err := Parse(NewFile("f.yaml", []byte(b.String())), []byte(b.String()))
		require.ErrorContains(t, err, "the file has more than 101210 parts with its aliases expanded")
	})
	t.Run("parts in common", func(t *testing.T) {
		text := "a: &a [" + strings.Repeat("x, ", 1000) + "]\nb: [" + strings.Repeat("*a, ", 100) + "]\n"
		_, err := Parse(NewFile("f.yaml", []byte(text)), []byte(text))
		require.NoError(t, err)
	})
	t.Run("nesting", func(t *testing.T) {
		text := strings.Repeat("[", 200) + strings.Repeat("]", 200)
		_, err := Parse(NewFile("f.yaml", []byte(text)), []byte(text))
		require.ErrorContains(t, err, "f.yaml:1:102: the file is nested deeper than 100 levels")
	})
	t.Run("empty", func(t *testing.T) {
		for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
			_, err := Parse(NewFile("f.yaml", []byte(text)), []byte(text))
			require.ErrorIs(t, err, ErrEmpty, "%q", text)
		}
	})
}

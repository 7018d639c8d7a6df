package display

import (
	"encoding/base64"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Texts that hold a structure are compared by it.
func TestTextsWithAStructure(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, c := range map[string]struct {
		old, new, kind string
		lines          []string
	}{
		"JSON": {
			`{"a": 1, "b": {"c": [1, 2]}, "gone": null}`, `{"b":{"c":[1,2,3]},"a":2,"x y":"<new>"}`, "JSON",
			[]string{`~ a: 1 => 2`, `+ b.c[2]: 3`, `- gone: null`, `+ ["x y"]: "<new>"`},
		},
		"a number that no float holds": {`[12345678901234567890]`, `[12345678901234567891]`, "JSON", []string{`~ [0]: 12345678901234567890 => 12345678901234567891`}},
		"only spaces":                  {`{"a": 1}`, `{"a":1}`, "JSON", []string{"only the way in which it is written differs"}},
		"an element at the front":      {`["a","b","c"]`, `["x","a","b","c"]`, "JSON", []string{`+ [0]: "x"`}},
		"an element elsewhere":         {`{"l":["a","b","c"]}`, `{"l":["b","c","a"]}`, "JSON", []string{`> l[2]: "a" (was l[0])`}},
		"an element that changed":      {`[{"n":1,"m":1},{"n":2}]`, `[{"n":1,"m":2},{"n":2}]`, "JSON", []string{`~ [0].m: 1 => 2`}},
		"YAML":                         {"a: 1\nb: [x]\n", "a: 1\nb: [y, x]\n", "YAML", []string{`+ b[0]: "y"`}},
		"YAML with other keys":         {"a: {1: x, true: y}\nb: 1\n", "a: {1: z, true: y}\nb: 1\n", "YAML", []string{`~ a.1: "x" => "z"`}},
		"YAML with a comment":          {"a: 1\nb: 2\n", "a: 1 # one\nb: 2\n", "YAML", []string{"only the way in which it is written differs"}},
		"base64 of JSON":               {encode(`{"user":"a"}`), encode(`{"user":"b"}`), "base64 of JSON", []string{`~ user: "a" => "b"`}},
		"base64 of lines":              {encode("line one\ntwo\n"), encode("line one\n2\n"), "base64 of text", []string{"@@ -1,2 +1,2 @@", " line one", "-two", "+2"}},
		"base64 of a line":             {encode("a readable line"), encode("another line\x20of it"), "base64 of text", []string{`- "a readable line"`, `+ "another line of it"`}},
	} {
		kind, lines := inside(Style{}, c.old, c.new)
		require.Equal(t, c.kind, kind, name)
		require.Equal(t, c.lines, lines, name)
	}
	for name, c := range map[string][2]string{
		"plain words":                {"hello", "world"},
		"JSON that became text":      {`{"a":1}`, `a`},
		"two documents":              {"a: 1\n---\nb: 2\n", "a: 1\n---\nb: 3\n"},
		"a key twice":                {"a: 1\na: 2\n", "a: 1\na: 3\n"},
		"a merge":                    {"<<: {a: 1}\nb: 1\n", "<<: {a: 2}\nb: 1\n"},
		"anchors":                    {"a: &x 1\nb: *x\n", "a: &x 2\nb: *x\n"},
		"words of the same length":   {"abcdefghijklmnop", "abcdefghijklmnoq"},
		"base64 of no readable text": {encode("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c"), encode("\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c")},
		"JSON with something behind": {`{"a":1} x`, `{"a":2} x`},
		"very long":                  {"[" + strings.Repeat(" ", maxStructure) + "]", "[1]"},
	} {
		kind, _ := inside(Style{}, c[0], c[1])
		require.Empty(t, kind, name)
	}
}

// What a text holds can come from anybody, and controls no terminal.
func TestStructuresAreEscaped(t *testing.T) {
	_, lines := inside(Style{}, "{\"\u202ea\": 1, \"b\\u001b[2J\": \"\u202e\"}", `{"a":1}`)
	for _, line := range lines {
		require.NotContains(t, line, "\u202e")
		require.NotContains(t, line, "\x1b")
	}
}

func TestWholeValues(t *testing.T) {
	created := func(v string) string {
		return differences(Style{}, engine.StepInfo{Inputs: []engine.PropertyChange{{Path: "p", Kind: "add", New: property.Render(property.String(v))}}})
	}
	require.Equal(t, "        + p: \"x\"\n", created("x"))
	require.Equal(t, "        + p: \""+strings.Repeat("x", 900)+"\"\n", created(strings.Repeat("x", 900)))
	require.Contains(t, created(strings.Repeat("x", 2000)), "… \" (2000 bytes)"[4:])
	require.Equal(t, "        + p:\n            one\n            two\n", created("one\ntwo\n"))
	require.Contains(t, created(strings.Repeat("line\n", 100)), "            … and 40 more lines, which --json has\n")
	long := strings.Repeat("x", 300)
	require.Equal(t, "        ~ p:\n            - \""+long+"a\"\n            + \""+long+"b\"  (forces replacement)\n", changed(long+"a", long+"b"))
	require.Equal(t, "        > list[2]: \"a\" (was list[0])\n", differences(Style{}, engine.StepInfo{Diff: []engine.PropertyChange{
		{Path: "list[2]", From: "list[0]", Kind: "move", Old: `"a"`, New: `"a"`},
	}}))
}

// Texts that were written to grow take no more than docs/security.md says.
func TestTextsThatGrow(t *testing.T) {
	took := func(do func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	for _, shape := range []string{"{},", "[],", "0,", `"",`, `{"a":0},`} {
		text := "[" + strings.Repeat(shape, (maxStructure-10)/len(shape)) + "0]"
		require.LessOrEqual(t, took(func() { asJSON(text) }), int64(len(text))*(intake.Ratio+2)+2*intake.Allowance, shape)
	}
	for _, shape := range []string{"-\n", "- a\n", "- [a,a,a,a,a,a,a,a,a]\n", "#\n", "- {}\n", "? a\n"} {
		text := "a:\n" + strings.Repeat(shape, (maxYAML-10)/len(shape))
		require.LessOrEqual(t, took(func() { asYAML(text) }), int64(80<<20), shape)
	}
}

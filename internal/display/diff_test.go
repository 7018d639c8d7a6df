package display

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// changed shows the change of a text.
func changed(old, new string) string {
	return differences(Style{}, engine.StepInfo{Diff: []engine.PropertyChange{{
		Path: "p", Kind: "update", Old: property.Render(property.String(old)), New: property.Render(property.String(new)), Replaces: true,
	}}})
}

func TestTextsAreComparedByLines(t *testing.T) {
	require.Equal(t, `        ~ p:  (forces replacement)
            @@ -1,5 +1,5 @@
             one
             two
            -three
            +3
             four
             five
            \ No newline at end of file
`, changed("one\ntwo\nthree\nfour\nfive", "one\ntwo\n3\nfour\nfive"))
	require.Equal(t, `        ~ p:  (forces replacement)
            @@ -1,1 +1,2 @@
            -a\x1b[2J
            \ No newline at end of file
            +a\x1b[2J
            +b\r
`, changed("a\x1b[2J", "a\x1b[2J\nb\r\n"))
	require.Equal(t, "        ~ p: \"a\" => \"b\"  (forces replacement)\n", changed("a", "b"))
}

func TestDifferencesThatNobodySees(t *testing.T) {
	for _, c := range [][4]string{
		{"cd", "c\u200bd", `"cd"`, `"c\u200bd"`},
		{"a b", "a\u00a0b", `"a b"`, `"a\u00a0b"`},
		{"caf\u00e9", "cafe\u0301", `"caf\u00e9"`, `"cafe\u0301"`},
		{"a", "a\u00ad", `"a"`, `"a\u00ad"`},
		{"a", "a\U000e0041", `"a"`, `"a\U000e0041"`},
		{"caf\u00e9", "caf\u00e8", "\"caf\u00e9\"", "\"caf\u00e8\""},
		{"a\u00a0b", "a\u00a0c", "\"a\u00a0b\"", "\"a\u00a0c\""},
	} {
		require.Equal(t, "        ~ p: "+c[2]+" => "+c[3]+"  (forces replacement)\n", changed(c[0], c[1]))
	}
}

// Of a long line the place is shown where it differs, and of many lines the first.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 500)
	shown := changed("same\n"+long+"a\n"+long, "same\n"+long+"b\n"+long)
	require.Contains(t, shown, "            -…xxxxxxxxxxxxxxxxa (501 bytes)\n            +…xxxxxxxxxxxxxxxxb (501 bytes) (they differ from character 501 on)\n")
	require.Contains(t, shown, "             "+long[:63]+"… (501 bytes)\n", "a line that is the same")

	var old, new strings.Builder
	for i := range 100 {
		fmt.Fprintf(&old, "old %d\n", i)
		fmt.Fprintf(&new, "new %d\n", i)
	}
	lines := strings.Split(strings.TrimSpace(changed(old.String(), new.String())), "\n")
	require.Len(t, lines, 1+maxDiffLines+1)
	require.Equal(t, "            … and 141 more lines, which --json has", lines[len(lines)-1])
}

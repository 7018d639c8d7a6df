package display

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onTerminal returns what a person sees after text with terminal commands was
// written. It knows the commands that a screen writes.
func onTerminal(t *testing.T, written string) string {
	t.Helper()
	lines, row := []string{""}, 0
	for len(written) > 0 {
		if command, ok := strings.CutPrefix(written, "\x1b["); ok {
			end := strings.IndexAny(command, "AJhl")
			require.GreaterOrEqual(t, end, 0, "unknown command %q", command)
			switch command[end] {
			case 'A':
				up, err := strconv.Atoi(command[:end])
				require.NoError(t, err)
				row -= up
				require.GreaterOrEqual(t, row, 0, "the cursor is above the first line")
			case 'J':
				lines = append(lines[:row], "")
			}
			written = command[end+1:]
			continue
		}
		switch written[0] {
		case '\r':
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		default:
			lines[row] += written[:1]
		}
		written = written[1:]
	}
	return strings.Join(lines, "\n")
}

// Escaped JSON means the same, and has nothing in it that a terminal acts on.
func TestEscapeJSON(t *testing.T) {
	text := "ü \U0001F600 \x1b[2J \u009b31m \x7f \u202e \u2066 \u2028 \" \\"
	plain, err := json.Marshal(text)
	require.NoError(t, err)
	escaped := EscapeJSON(plain)
	require.Equal(t, `"ü 😀 \u001b[2J \u009b31m \u007f \u202e \u2066 \u2028 \" \\"`, string(escaped))
	var back string
	require.NoError(t, json.Unmarshal(escaped, &back))
	require.Equal(t, text, back)
}

func TestEscape(t *testing.T) {
	require.Equal(t, `a\x1b[2J\u009b\r\n\t\u202eb`, Escape("a\x1b[2J\u009b\r\n\t\u202eb"))
	require.Equal(t, "a\tb\nc\\x1b", EscapeLines("a\tb\r\nc\x1b"))
}

// TestEscapeButColour has lines of another machine keep their colours, and nothing else that a terminal obeys.
func TestEscapeButColour(t *testing.T) {
	for given, want := range map[string]string{
		"plain":                                  "plain",
		"\x1b[32m+\x1b[0m  a":                    "\x1b[32m+\x1b[0m  a\x1b[0m",
		"\x1b[1;31mbad":                          "\x1b[1;31mbad\x1b[0m",
		"\x1b[8mhidden\x1b[30;40mblack":          "hiddenblack",
		"\x1b[38;5;0mx":                          "x",
		"\x1b[2J\x1b[H\x1b]0;title\a\x1b]52;c;x": `\x1b[2J\x1b[H\x1b]0;title\a\x1b]52;c;x`,
		"over\rwritten\b\n\u009b2J\u202e":        `over\rwritten\b\n\u009b2J\u202e`,
		"\x1b\x1b[31m[2J":                        "\\x1b\x1b[31m[2J\x1b[0m",
	} {
		require.Equal(t, want, EscapeButColour(given, true))
		require.NotContains(t, EscapeButColour(given, false), "\x1b")
	}
}

// What a reader takes for one character is not torn, and takes the cells that terminals give it.
func TestCells(t *testing.T) {
	for text, want := range map[string]struct {
		cells int
		cut   string // to four cells
	}{
		"name":            {4, "name"},
		"names":           {5, "nam…"},
		"名前":              {4, "名前"},
		"名前を":             {6, "名…"},
		"e\u0301te\u0301": {3, "e\u0301te\u0301"},
		"👩‍👩‍👧":           {2, "👩‍👩‍👧"},
		"a👩‍👩‍👧bcd":       {6, "a👩‍👩‍👧…"},
	} {
		require.Equal(t, want.cells, lineWidth(text), text)
		require.Equal(t, want.cut, cutLine(text, 4), text)
		require.Empty(t, cutLine(text, 0), text)
	}
}

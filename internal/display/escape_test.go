package display

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

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

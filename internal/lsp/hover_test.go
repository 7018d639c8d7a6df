package lsp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Text of a provider runs and loads nothing in an editor, however often it is escaped.
func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"<img src=x onerror=y>":      "&lt;img src=x onerror=y>",
		"![x](https://example.org)":  `!\[x](https://example.org)`,
		"[x](command:delete)":        `[x]\(command:delete)`,
		"a **b** [c](https://d) `e`": "a **b** [c](https://d) `e`",
	} {
		require.Equal(t, want, escape(text))
		require.Equal(t, want, escape(escape(text)))
	}
	require.Equal(t, "`a'<b>`", code("a`<b>"))
}

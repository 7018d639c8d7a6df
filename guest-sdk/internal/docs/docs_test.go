package docs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/guest-sdk/internal/docs"
)

func TestFind(t *testing.T) {
	const text = "a.A\tone\n" + "a.A.B\ttwo\vlines\n" + "a.C\t\n" + "main.X\tlast\n"
	for name, want := range map[string]string{
		"a.A": "one", "a.A.B": "two\nlines", "a.C": "", "main.X": "last", "a": "", "a.B": "", "z": "", "": "",
	} {
		require.Equal(t, want, docs.Find(text, name), name)
	}
	require.Empty(t, docs.Find("", "a"))
}

// What the author says in the program is what counts.
func TestDescribe(t *testing.T) {
	require.Equal(t, "given", docs.Describe("given", "a", "A"))
	require.Empty(t, docs.Describe("", "a", "A"), "without husk provider build there are no comments")
}

package source

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a file holds, it is read, or refused with places that it has.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: 1\nb: [1, {c: d}]\n", "a:\n  b: 1\n c: 2\n", "a: &x [*x]\n", "a: \"\\q\"\n", "a: b: c\n", "a: |\n  b\n c\n",
		"a: {b: ${c}}\n", "\t", "- - -", "? a\n: b\n", "%YAML 1.1\n---\na: 1\n", "a: 'b\nc: d\n", "a: *b\n", "\xef\xbb\xbfa: 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := NewFile("f.yaml", text)
		root, err := Parse(file, text)
		if err == nil {
			require.NotNil(t, root)
			return
		}
		if errors.Is(err, ErrEmpty) {
			return
		}
		ds, ok := errors.AsType[Diagnostics](err)
		require.True(t, ok)
		require.Len(t, ds, 1)
		require.Positive(t, ds[0].Line)
		require.Positive(t, ds[0].Column)
		require.NotEmpty(t, ds.Error())
	})
}

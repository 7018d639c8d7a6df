package display

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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

package display

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// lineWidth returns the cells of a terminal that text without commands takes.
func lineWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 { // most text
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cutLine returns text that takes so many cells at most. It ends with an ellipsis if something is left out.
func cutLine(text string, most int) string {
	if lineWidth(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += runeWidth(r); n > most-1 {
			if most < 1 {
				return ""
			}
			return text[:i] + "…"
		}
	}
	return text
}

// padLine returns text with spaces up to so many cells.
func padLine(text string, cells int) string {
	return text + strings.Repeat(" ", max(0, cells-lineWidth(text)))
}

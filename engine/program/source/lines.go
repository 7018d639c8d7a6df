package source

import (
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// sourceLine is a line with text that is not inside a block scalar or a comment.
type sourceLine struct {
	number int
	// indent counts the spaces before the text, with "- " of list items.
	indent int
	// dash is the indent of the line's first "- ", -1 where it has none.
	dash int
	// text is the line with its indentation, without a comment.
	text string
	// outdented marks a line that is indented less than the block scalar, but deeper than its key.
	outdented bool
}

func (l sourceLine) position(offset int) Position {
	return Position{l.number, utf8.RuneCountInString(l.text[:offset]) + 1}
}

// body returns the text behind the indentation and the dashes.
func (l sourceLine) body() string { return l.text[l.indent:] }

var blockScalar = lazyregexp.Regexp{Syntax: `(^|[:\-]\s+)(?:[!&]\S+\s+)*[|>][+\-0-9]*$`}

func scanLines(f *File) []sourceLine {
	var lines []sourceLine
	inScalar, scalarIndent := -1, -1 // the indents of a block scalar's key and of its text
	for i, raw := range f.lines {
		text := stripComment(strings.TrimRight(raw, "\r"))
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || strings.HasPrefix(trimmed, "---") {
			continue
		}
		indent := indentation(text)
		if inScalar >= 0 {
			if scalarIndent < 0 {
				scalarIndent = indent
			}
			if indent > inScalar && indent >= scalarIndent {
				continue
			}
		}
		l := sourceLine{number: i + 1, indent: indent, dash: -1, text: text}
		l.outdented = inScalar >= 0 && indent > inScalar
		inScalar, scalarIndent = -1, -1
		for strings.HasPrefix(l.body(), "- ") {
			if l.dash < 0 {
				l.dash = l.indent
			}
			l.indent++
			l.indent += indentation(l.body())
		}
		if l.body() == "-" && l.dash < 0 {
			l.dash = l.indent
		}
		if blockScalar.Get().MatchString(trimmed) {
			inScalar = indent
		}
		lines = append(lines, l)
	}
	return lines
}

func stripComment(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "#") {
		return ""
	}
	quote := rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '"' || r == '\'') && (i == 0 || strings.ContainsRune(" [{,:-", rune(text[i-1]))):
			quote = r
		case r == '#' && i > 0 && text[i-1] == ' ':
			return strings.TrimRight(text[:i], " ")
		}
	}
	return strings.TrimRight(text, " ")
}

var keyPattern = lazyregexp.Regexp{Syntax: `^("[^"]*"|'[^']*'|[^\s"'\[{#&*!|>][^#]*?)\s*:(\s|$)`}

func keyOf(body string) string {
	if m := keyPattern.Get().FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

func valueOf(body string) string {
	if m := keyPattern.Get().FindStringIndex(body); m != nil {
		return strings.TrimSpace(body[m[1]:])
	}
	return ""
}

package source

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

func findTab(f search) (Diagnostic, bool) {
	for i, line := range f.File.lines {
		trimmed := strings.TrimLeft(line, " \t")
		tab := strings.IndexByte(line[:len(line)-len(trimmed)], '\t')
		if tab >= 0 && strings.TrimSpace(trimmed) != "" && !strings.HasPrefix(trimmed, "#") {
			return f.Errorf(Position{i + 1, tab + 1}, "YAML is indented with spaces, but this line is indented with a tab").
				With("replace the tab with spaces, two for each level"), true
		}
	}
	return Diagnostic{}, false
}

// findForeignSpace finds indentation that YAML does not take for any.
func findForeignSpace(f search) (Diagnostic, bool) {
	for _, l := range f.lines {
		body := strings.TrimLeft(l.text, " ")
		if r, _ := utf8.DecodeRuneInString(body); isForeignSpace(r) {
			return f.Errorf(l.position(len(l.text)-len(body)), "this line is indented with a character that is not a space in YAML").With(notYAML(r)), true
		}
	}
	return Diagnostic{}, false
}

// isForeignSpace reports whether people take a character for a space, or see none, and YAML takes it for text.
func isForeignSpace(r rune) bool {
	return r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}

// notYAML returns what to write in place of a character that people take for a quote or a space, and YAML does not.
func notYAML(r rune) string {
	switch {
	case strings.ContainsRune("“”„‟«»", r):
		return fmt.Sprintf("%c is not a quote for YAML: write \" in its place", r)
	case strings.ContainsRune("‘’‚‛", r):
		return fmt.Sprintf("%c is not a quote for YAML: write ' in its place", r)
	case isForeignSpace(r):
		return fmt.Sprintf("the character U+%04X is not a space for YAML: write a space in its place", r)
	}
	return ""
}

func findAnchor(f search) (Diagnostic, bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(f.problem, "unknown anchor '"), "' referenced")
	for _, l := range f.lines {
		if i := strings.Index(l.text, "*"+name); i >= 0 {
			return f.Errorf(l.position(i), "the alias *%s has no anchor &%s before it", name, name).
				With("text that begins with * must be quoted"), true
		}
	}
	return Diagnostic{}, false
}

var reservedStart = lazyregexp.Regexp{Syntax: "(?:^|[:\\-]\\s+|[\\[{,]\\s*)([@`%]|[*&](?:[^\\w\\-]|$))"}

func findReserved(f search) (Diagnostic, bool) {
	for _, l := range f.lines {
		if m := reservedStart.Get().FindStringSubmatchIndex(l.text); m != nil {
			return f.Errorf(l.position(m[2]), "text that begins with %s must be quoted", l.text[m[2]:m[2]+1]), true
		}
	}
	return Diagnostic{}, false
}

var badEscape = lazyregexp.Regexp{Syntax: `"(?:[^"\\]|\\[0abtnvfre "/\\N_LPxuU])*(\\[^0abtnvfre "/\\N_LPxuU])`}

func findEscape(f search) (Diagnostic, bool) {
	for _, l := range f.lines {
		if m := badEscape.Get().FindStringSubmatchIndex(l.text); m != nil {
			return f.Errorf(l.position(m[2]), "%s means nothing between double quotes", l.text[m[2]:m[3]]).
				With(`write \\ for a backslash, or use single quotes`), true
		}
	}
	return Diagnostic{}, false
}

var quoteStart = lazyregexp.Regexp{Syntax: `(?:^|[:\-]\s+|[\[{,]\s*)(["'])`}

// findOpenQuote finds the first quoted text without an end: a line with a key follows.
func findOpenQuote(f search) (Diagnostic, bool) {
	for i, l := range f.lines {
		m := quoteStart.Get().FindStringSubmatchIndex(l.text)
		if m == nil {
			continue
		}
		quote, rest := l.text[m[2]:m[3]], l.text[m[3]:]
		if quote == `"` {
			rest = strings.ReplaceAll(strings.ReplaceAll(rest, `\\`, ""), `\"`, "")
		}
		if strings.Count(rest, quote)%2 == 1 {
			continue
		}
		if i+1 == len(f.lines) || keyOf(f.lines[i+1].body()) != "" {
			return f.Errorf(l.position(m[2]), "the text that begins here has no closing %s", quote), true
		}
	}
	return Diagnostic{}, false
}

// findFlow finds why a list in [ ] or a mapping in { } does not end.
func findFlow(f search) (Diagnostic, bool) {
	for _, l := range f.lines {
		open := strings.IndexAny(l.text, "[{")
		if l.number < f.line || open < 0 {
			continue
		}
		for i := open; i < len(l.text); i++ {
			if strings.HasPrefix(l.text[i:], "${") && i > 0 && strings.ContainsRune(" ,[:{", rune(l.text[i-1])) && strings.ContainsAny(l.text[:i], "[{") {
				return f.Errorf(l.position(i), "an expression inside [ ] or { } must be quoted").
					With(`write "${...}" with the quotes`), true
			}
		}
		if strings.Count(l.text, "[") > strings.Count(l.text, "]") || strings.Count(l.text, "{") > strings.Count(l.text, "}") {
			return f.Errorf(l.position(open), "the %c that begins here is not closed, or a comma is missing", l.text[open]), true
		}
	}
	return Diagnostic{}, false
}

// findIndentation finds the first line whose indentation fits no line above it.
func findIndentation(f search) (Diagnostic, bool) {
	var open []int // the indents of the enclosing blocks, outermost first
	for i, l := range f.lines {
		start := l.indent
		if l.dash >= 0 {
			start = l.dash
		}
		for len(open) > 0 && open[len(open)-1] > start {
			open = open[:len(open)-1]
		}
		if l.outdented {
			return f.Errorf(l.position(start), "this line is indented less than the text that begins above it"), true
		}
		deeper := len(open) == 0 || open[len(open)-1] < start
		if deeper && i > 0 {
			above := f.lines[i-1]
			switch {
			case above.indent > start || (above.dash >= 0 && above.dash > start):
				return f.Errorf(l.position(start), "this line is indented by %s, which fits no line above it", spaces(start)).
					With("indent it like the line that it belongs beside: " + indents(f.lines[:i], start)), true
			case keyOf(above.body()) != "" && plainValue(valueOf(above.body())) && (keyOf(l.body()) != "" || l.dash >= 0):
				return f.Errorf(l.position(start), "this line is indented deeper than the line above it, which has a value already").
					With(fmt.Sprintf("to stand beside %s, indent it by %s", keyOf(above.body()), spaces(above.indent))), true
			}
		}
		if deeper {
			open = append(open, start)
		}
		if l.dash >= 0 && l.indent > l.dash {
			open = append(open, l.indent)
		}
	}
	return Diagnostic{}, false
}

// plainValue reports whether a value ends on its line.
func plainValue(value string) bool {
	return value != "" && !strings.HasPrefix(value, "&") && !strings.HasPrefix(value, "!") && !strings.ContainsAny(value[:1], `|>"'[{`)
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

func indents(lines []sourceLine, n int) string {
	below, above := -1, -1
	for _, l := range lines {
		for _, indent := range []int{l.indent, l.dash} {
			if indent >= 0 && indent < n && indent > below {
				below = indent
			}
			if indent > n && (above < 0 || indent < above) {
				above = indent
			}
		}
	}
	switch {
	case below < 0:
		return "by " + spaces(above)
	case above < 0:
		return "by " + spaces(below)
	}
	return fmt.Sprintf("by %s or by %s", spaces(below), spaces(above))
}

// findSecondColon finds a value that holds ": " without being quoted.
func findSecondColon(f search) (Diagnostic, bool) {
	for _, l := range f.lines {
		value := valueOf(l.body())
		if !plainValue(value) {
			continue
		}
		offset := len(l.text) - len(value)
		if i := strings.Index(value, ": "); i >= 0 || strings.HasSuffix(value, ":") {
			if i < 0 {
				i = len(value) - 1
			}
			return f.Errorf(l.position(offset+i), "a value that contains a colon and a space must be quoted").
				With("or the second key belongs on a line of its own"), true
		}
		if strings.HasPrefix(value, "- ") {
			return f.Errorf(l.position(offset), "a list begins on the line below its key, not beside it"), true
		}
	}
	return Diagnostic{}, false
}

// findMissingColon finds a line that has neither a key nor a dash.
func findMissingColon(f search) (Diagnostic, bool) {
	for i, l := range f.lines {
		if keyOf(l.body()) != "" || l.dash >= 0 || strings.ContainsAny(l.body()[:1], "[{\"'&!*}]") {
			continue
		}
		if i+1 < len(f.lines) && f.lines[i+1].indent == l.indent && keyOf(f.lines[i+1].body()) != "" {
			return f.Errorf(l.position(l.indent), "this line is neither \"key: value\" nor a list item").
				With("write a colon and a space behind the key"), true
		}
	}
	return Diagnostic{}, false
}

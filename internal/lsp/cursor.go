package lsp

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// marker stands for the word at the cursor in the text that is parsed.
const marker = "husk-cursor"

// cursor is a position where an editor asks for proposals.
type cursor struct {
	document *document
	line     int
	// from and to are the word around the cursor, in bytes of its line. at is the cursor itself.
	from, at, to int
	// quoted marks a word in quotes.
	quoted bool
	// hasColon marks a key that has its colon already, and spaceless a value that follows one without a space.
	hasColon, spaceless bool
}

// isWordByte reports whether a byte is a part of a key, a type, or a function's name.
func isWordByte(b byte) bool {
	return b == '_' || b == '-' || b == ':' || b == '/' || b == '.' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

func newCursor(d *document, p position) *cursor {
	p = d.within(p)
	c := &cursor{document: d, line: p.Line, at: d.column(p)}
	line := d.line(p.Line)
	c.from, c.to = c.at, c.at
	for c.from > 0 && isWordByte(line[c.from-1]) {
		c.from--
	}
	for c.to < len(line) && isWordByte(line[c.to]) {
		c.to++
	}
	if word := line[c.from:c.at]; c.from == indentOf(line) && strings.HasPrefix(word, "-") {
		c.from += strings.IndexFunc(word+"x", func(r rune) bool { return r != '-' }) // the dash of a list
	}
	if word := line[c.from:c.at]; strings.Trim(line[:c.from], " -") == "" && !strings.HasPrefix(word, "fn:") && strings.IndexByte(word, ':') == len(word)-1 && word != "" {
		c.from, c.spaceless = c.at, true
	}
	if colon := strings.HasSuffix(line[c.at:c.to], ":") && (c.to == len(line) || line[c.to] == ' '); colon {
		c.to--
		c.hasColon = true
	}
	c.quoted = c.from > 0 && (line[c.from-1] == '"' || line[c.from-1] == '\'') && strings.Count(line[:c.from], line[c.from-1:c.from])%2 == 1
	return c
}

// before returns the text on the line before the word.
func (c *cursor) before() string { return c.document.line(c.line)[:c.from] }

// reference returns the written part of a ${ before the cursor, and whether there is one.
func (c *cursor) reference() (written string, ok bool) {
	before := c.document.line(c.line)[:c.at]
	open := strings.LastIndex(before, "${")
	if open < 0 || strings.Contains(before[open:], "}") {
		return "", false
	}
	if dollars := open - len(strings.TrimRight(before[:open], "$")); dollars%2 == 1 { // $${ is text
		return "", false
	}
	return before[open+len("${"):], true
}

// place returns where the word at the cursor stands. A tree of the text with a marker in its place tells it, because an
// unfinished word is often not valid YAML. It is nil if the marked text is not valid either.
func (c *cursor) place() *place {
	line := c.document.line(c.line)
	before, after := line[:c.from], line[c.to:]
	if c.quoted {
		quote := before[len(before)-1]
		before = before[:len(before)-1]
		after = strings.TrimPrefix(after, string(quote))
	}
	flow := c.openBrackets(before)
	trimmed := strings.TrimRight(before, " ")
	isKey := false
	switch {
	case len(flow) > 0:
		isKey = flow[len(flow)-1] == '{' && (trimmed == "" || strings.HasSuffix(trimmed, "{") || strings.HasSuffix(trimmed, ","))
		rest, below := strings.TrimLeft(after, " "), c.below()
		switch {
		case !strings.ContainsAny(rest, "]}") && !strings.HasSuffix(below, ",") && len(scanBrackets(below, slices.Clone(flow))) >= len(flow):
			after = "" // nothing closes them yet
			for i := len(flow) - 1; i >= 0; i-- {
				after += map[byte]string{'{': "}", '[': "]"}[flow[i]]
			}
		case rest == "" && !strings.ContainsAny(below[:1], "]},"):
			after = ","
		case rest != "" && !strings.ContainsRune(",]}:", rune(rest[0])):
			after = ", " + after
		}
	default:
		isKey = strings.Trim(before, " -") == ""
		if !isKey || !strings.HasPrefix(after, ":") {
			after = ""
		}
	}
	middle := marker
	switch {
	case isKey && !strings.HasPrefix(after, ":"):
		middle += ": " // of null
	case !isKey && len(flow) == 0 && !strings.HasSuffix(before, " "):
		middle = " " + middle
	}
	lines := append([]string{}, c.document.lines...)
	if c.line >= len(lines) {
		return nil
	}
	lines[c.line] = before + middle + after
	t := newTree(newDocument(c.document.path, strings.Join(lines, "\n"), nil), c.document.path)
	return t.find(func(n *yaml.Node) bool { return n.Value == marker })
}

// below returns the next line that is not empty, without spaces around it.
func (c *cursor) below() string {
	for i := c.line + 1; i < len(c.document.lines); i++ {
		if rest := strings.TrimSpace(c.document.lines[i]); rest != "" {
			return rest
		}
	}
	return ""
}

// openBrackets returns the brackets that are open before the cursor, outermost first. before is its line up to there.
func (c *cursor) openBrackets(before string) (open []byte) {
	first := c.line
	for first > 0 && (strings.TrimSpace(c.document.lines[first]) == "" || indentOf(c.document.lines[first]) > 0) {
		first--
	}
	for i := first; i <= c.line; i++ {
		line := c.document.lines[i]
		if i == c.line {
			line = before
		}
		open = scanBrackets(line, open)
	}
	return open
}

// scanBrackets adds the brackets that a line opens to the open ones, and removes the ones that it closes. Outside of brackets,
// only those count with which a value begins.
func scanBrackets(line string, open []byte) []byte {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		b := line[i]
		before := strings.TrimRight(line[:i], " ")
		begins := before == "" || strings.HasSuffix(before, ":") || strings.HasSuffix(before, "-") || len(open) > 0
		switch {
		case quote != 0:
			if b == '\\' && quote == '"' {
				i++
			} else if b == quote {
				quote = 0
			}
		case (b == '"' || b == '\'') && (begins && (before == "" || strings.ContainsRune(":-[{,", rune(before[len(before)-1])))):
			quote = b
		case b == '#' && (i == 0 || line[i-1] == ' '):
			return open
		case strings.HasPrefix(line[i:], "${"):
			if end := strings.IndexByte(line[i:], '}'); end > 0 {
				i += end
			} else {
				i++
			}
		case (b == '{' || b == '[') && begins:
			open = append(open, b)
		case (b == '}' || b == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	return open
}

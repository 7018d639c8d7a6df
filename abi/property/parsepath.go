package property

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// PathSyntaxError reports text that is not a property path.
type PathSyntaxError struct {
	Input string
	// Offset is where, in bytes from the start of the input.
	Offset int
	// Reason describes the mistake and the expected text.
	Reason string
}

func (e *PathSyntaxError) Error() string {
	return `invalid property path "` + string(appendQuotedKey(nil, strings.ToValidUTF8(e.Input, "\uFFFD"))) +
		`": character ` + strconv.Itoa(utf8.RuneCountInString(e.Input[:e.Offset])+1) + ": " + e.Reason
}

// ParsePath parses the text of a path: names separated by dots, and brackets with an index, a name
// in quotes, or the wildcard.
//
//	root.nested["key with \"quotes\""][0].*
//
// In quotes, \" is a quote, \\ a backslash, and \u00e9 the character of that code. The wildcard is *
// as a whole segment, [*], or, as in Pulumi, ["*"]; the key * is ["\*"]. A name without quotes has
// no . [ ] " \ and no control characters. The empty text is the empty path.
func ParsePath(text string) (Path, error) {
	p := pathParser{in: text}
	for p.pos < len(text) {
		if !p.segment() {
			return nil, &PathSyntaxError{Input: text, Offset: p.pos, Reason: p.reason}
		}
	}
	return p.path, nil
}

type pathParser struct {
	in     string
	pos    int
	path   Path
	reason string // the mistake at pos
}

func (p *pathParser) fail(at int, reason string) bool {
	p.pos, p.reason = at, reason
	return false
}

func (p *pathParser) add(s Segment, end int) bool {
	p.path, p.pos = append(p.path, s), end
	return true
}

// segment parses the segment at pos with the dot before it.
func (p *pathParser) segment() bool {
	switch c := p.in[p.pos]; {
	case c == '[':
		return p.bracket()
	case c == '.' && len(p.path) == 0:
		return p.fail(p.pos, "a path starts with a name or a bracket")
	case c == '.':
		return p.name(p.pos + 1)
	case len(p.path) == 0:
		return p.name(p.pos)
	default:
		return p.fail(p.pos, `"." or "[" must follow "]"`)
	}
}

// name parses a name outside quotes, or the wildcard.
func (p *pathParser) name(start int) bool {
	end := start
	for end < len(p.in) && p.in[end] != '.' && p.in[end] != '[' {
		r, size := utf8.DecodeRuneInString(p.in[end:])
		switch {
		case r == utf8.RuneError && size == 1:
			return p.fail(end, "text is not valid UTF-8")
		case r == ']' || r == '"' || r == '\\' || isControl(r):
			return p.fail(end, `a name with this character is written ["..."]`)
		}
		end += size
	}
	switch name := p.in[start:end]; name {
	case "":
		return p.fail(start, `a name must follow "."`)
	case "*":
		return p.add(Wildcard(), end)
	default:
		return p.add(Key(name), end)
	}
}

// bracket parses ["name"], [index], or [*].
func (p *pathParser) bracket() bool {
	start := p.pos + 1
	if strings.HasPrefix(p.in[start:], `"`) {
		return p.quoted(start + 1)
	}
	length := strings.IndexByte(p.in[start:], ']')
	if length < 0 {
		return p.fail(len(p.in), `"]" is missing`)
	}
	text, end := p.in[start:start+length], start+length+1
	if text == "*" {
		return p.add(Wildcard(), end)
	}
	if text == "" || strings.Trim(text, "0123456789") != "" || len(text) > 1 && text[0] == '0' {
		return p.fail(start, `an index (0, 1, ...), a name in quotes, or * must follow "["`)
	}
	i, err := strconv.Atoi(text)
	if err != nil {
		return p.fail(start, "the index is too large")
	}
	return p.add(Index(i), end)
}

// quoted parses a name in quotes and the bracket after it, from behind the opening quote.
func (p *pathParser) quoted(start int) bool {
	var key []byte
	at := start
	for {
		if at == len(p.in) {
			return p.fail(at, `the closing quote (") is missing`)
		}
		r, size := utf8.DecodeRuneInString(p.in[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return p.fail(at, "text is not valid UTF-8")
		case r == '"':
			end := at + 1
			if !strings.HasPrefix(p.in[end:], "]") {
				return p.fail(end, `"]" must follow the closing quote`)
			}
			if p.in[start:at] == "*" {
				return p.add(Wildcard(), end+1)
			}
			return p.add(Key(string(key)), end+1)
		case r == '\\':
			if r, size = unescape(p.in[at:]); size == 0 {
				return p.fail(at, `a backslash in quotes is written \\`)
			}
		}
		key = utf8.AppendRune(key, r)
		at += size
	}
}

// unescape returns the character of the escape at the start of s, and its length in bytes, or 0.
func unescape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '*':
		return rune(s[1]), 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		code, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil || !utf8.ValidRune(rune(code)) {
			return 0, 0
		}
		return rune(code), 6
	}
	return 0, 0
}

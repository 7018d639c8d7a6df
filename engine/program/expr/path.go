package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
)

type syntaxError struct {
	offset  int
	message string
}

func (e *syntaxError) Error() string { return e.message }

// parseText splits text at its ${...}. $$ stands for a dollar sign.
func parseText(text string) ([]Part, *syntaxError) {
	var parts []Part
	var b strings.Builder
	marks := 0 // that were passed
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$$"):
			if strings.HasPrefix(text[i+1:], "${") {
				marks++
			}
			b.WriteByte('$')
			i += len("$$")
		case strings.HasPrefix(text[i:], "${"):
			access, length, err := parseAccess(text[i+len("${"):])
			if err != nil {
				err.offset += i + len("${")
				return nil, err
			}
			access.occurrence = marks
			parts = append(parts, Part{Text: b.String(), Access: access})
			b.Reset()
			end := i + len("${") + length
			marks += strings.Count(text[i:end], "${")
			i = end
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	if b.Len() > 0 || len(parts) == 0 {
		parts = append(parts, Part{Text: b.String()})
	}
	return parts, nil
}

// parseAccess reads what follows "${", up to and with the "}":
//
//	access  = root { "." name | "[" index "]" | "[" quoted "]" } "}"
//	root    = name | "[" quoted "]"
//	name    = characters other than . [ ] { } " $ and space
//	quoted  = '"' characters, with \" and \\ for " and \ '"'
func parseAccess(text string) (*Access, int, *syntaxError) {
	a := &Access{}
	i, named := 0, false
	counted, characters := 0, 0 // the bytes and characters up to the last segment
	add := func(offset int, s property.Segment) *syntaxError {
		characters += utf8.RuneCountInString(text[counted:offset])
		counted = offset
		a.offsets = append(a.offsets, characters)
		if named {
			a.Path = append(a.Path, s)
			return nil
		}
		named = true
		var ok bool
		if a.Name, ok = s.Key(); !ok {
			return &syntaxError{offset, "an expression begins with a name, not with an index"}
		}
		return nil
	}
	for i < len(text) {
		switch c := text[i]; {
		case c == '}':
			if !named {
				return nil, 0, &syntaxError{i, "the expression ${} names nothing"}
			}
			return a, i + 1, nil
		case c == '[':
			segment, length, err := parseSubscript(text[i:])
			if err != nil {
				err.offset += i
				return nil, 0, err
			}
			if err := add(i, segment); err != nil {
				return nil, 0, err
			}
			i += length
			continue
		case c == '.' && !named:
			return nil, 0, &syntaxError{i, "an expression begins with a name, not with a dot"}
		case c == '.':
			i++
		case named:
			return nil, 0, &syntaxError{i, `a "." or "[" must stand before the next name`}
		}
		length := strings.IndexAny(text[i:], ".[]{}\"$ \t\r\n")
		switch {
		case length < 0:
			return nil, 0, unterminated()
		case length == 0:
			return nil, 0, unexpected(text, i)
		}
		if err := add(i, property.Key(text[i:i+length])); err != nil {
			return nil, 0, err
		}
		i += length
		if c := text[i]; c != '.' && c != '[' && c != '}' {
			return nil, 0, unexpected(text, i)
		}
	}
	return nil, 0, unterminated()
}

func unterminated() *syntaxError {
	return &syntaxError{-len("${"), "this ${ has no closing }; for the text itself write $${"}
}

func unexpected(text string, i int) *syntaxError {
	if !strings.Contains(text[i:], "}") {
		return unterminated()
	}
	switch c := text[i]; c {
	case ' ', '\t', '\r', '\n':
		return &syntaxError{i, "an expression has no spaces; a name with spaces is written [\"a name\"]"}
	case '}':
		return &syntaxError{i, "a name is missing before the }"}
	default:
		return &syntaxError{i, fmt.Sprintf("a name is missing before %q, or it must be quoted: [\"a.name\"]", c)}
	}
}

// parseSubscript reads [0] or ["key"].
func parseSubscript(text string) (property.Segment, int, *syntaxError) {
	if !strings.HasPrefix(text, `["`) {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return property.Segment{}, 0, &syntaxError{0, "this [ has no closing ]"}
		}
		index, err := strconv.ParseUint(text[1:end], 10, 31)
		if err != nil {
			return property.Segment{}, 0, &syntaxError{1, fmt.Sprintf("%q is not an index; a key must be quoted: [\"key\"]", text[1:end])}
		}
		return property.Index(int(index)), end + 1, nil
	}
	var key strings.Builder
	for i := len(`["`); i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			key.WriteByte(text[i])
		case c == '"':
			if !strings.HasPrefix(text[i:], `"]`) {
				return property.Segment{}, 0, &syntaxError{i, "a ] must follow the quoted key"}
			}
			return property.Key(key.String()), i + len(`"]`), nil
		default:
			key.WriteByte(c)
		}
	}
	return property.Segment{}, 0, &syntaxError{1, "this quoted key has no closing \""}
}

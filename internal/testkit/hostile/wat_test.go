package hostile_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// The corpus is written in the WebAssembly text format, because no compiler would write most of
// its modules. What follows assembles WebAssembly 2.0 without vector instructions. It checks no
// types and takes what would be invalid, because the host must refuse that.
//
// Annotations say what the format cannot:
//
//	(@repeat 1000 nop)         what follows the number, so many times, wherever it stands
//	(@bytes "\06\40")          bytes in place of an instruction
//	(@custom "name" "content") a custom section, at the end of the module
//	(@sized "ab" (@leb 300))   in a binary module, bytes with their length before them
//	(@leb 300)                 there, a number
//
// Any other annotation among the fields of a module is replaced by an [include].

// include writes further fields of a module. They come after those of the module, whose
// indexes do not change. exported reports which exports the module has itself.
type include func(exported func(name string) bool) (fields string)

// syntaxError is text that is no module.
type syntaxError struct {
	Line    int
	Message string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// assembleText returns the binary of the module in the text. An error is a *[syntaxError]. If an
// include is at fault, the line is in its text.
func assembleText(text string, includes map[string]include) (wasm []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			err = failure
		}
	}()
	nodes := parse(text)
	if len(nodes) != 1 || nodes[0].head() != "module" {
		panic(&syntaxError{1, "the text is not one module"})
	}
	return assembleModule(nodes[0], includes), nil
}

func assembleModule(module node, includes map[string]include) []byte {
	fields := module.rest()
	if len(fields) > 0 && fields[0].isName() {
		fields = fields[1:]
	}
	if len(fields) > 0 && fields[0].atom == "binary" {
		return []byte(bytesOf(fields[1:]))
	}
	a := assembler{includes: includes, exported: map[string]bool{}}
	a.module(expand(fields))
	return a.encode()
}

// bytesOf writes what is given as bytes.
func bytesOf(nodes []node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch {
		case n.quoted:
			b.WriteString(n.atom)
		case n.head() == "@repeat":
			once, times := bytesOf(n.rest()[1:]), n.number()
			if times > maxRepeated || times*uint64(len(once)) > maxRepeated {
				n.fail("that is repeated too often")
			}
			b.WriteString(strings.Repeat(once, int(times)))
		case n.head() == "@sized":
			b.WriteString(wasmtest.Text(bytesOf(n.rest())))
		case n.head() == "@leb":
			b.WriteString(wasmtest.Unsigned(n.number()))
		default:
			n.fail("not the bytes of a module")
		}
	}
	return b.String()
}

// node is an atom, a string, or a list.
type node struct {
	line   int
	atom   string // also the bytes of a string
	quoted bool   // it is a string
	list   []node // not nil for a list
}

func (n node) fail(format string, args ...any) {
	panic(&syntaxError{n.line, fmt.Sprintf(format, args...)})
}

// head is the keyword of a list.
func (n node) head() string {
	if len(n.list) == 0 || n.list[0].quoted {
		return ""
	}
	return n.list[0].atom
}

func (n node) rest() []node {
	if len(n.list) == 0 {
		n.fail("a list with contents is missing")
	}
	return n.list[1:]
}

// number is the only operand of an annotation.
func (n node) number() uint64 {
	if len(n.list) < 2 {
		n.fail("a number is missing")
	}
	v, err := strconv.ParseUint(strings.ReplaceAll(n.list[1].atom, "_", ""), 0, 64)
	if err != nil {
		n.fail("%q is no number", n.list[1].atom)
	}
	return v
}

func (n node) isName() bool { return !n.quoted && strings.HasPrefix(n.atom, "$") }

// text is the node's string.
func (n node) text() string {
	if !n.quoted {
		n.fail("a string is missing")
	}
	return n.atom
}

// maxRepeated bounds what one list may be repeated to, in nodes or bytes.
const maxRepeated = 10_000_000

// expand does the repetitions in a list.
func expand(nodes []node) []node {
	var out []node
	for at, n := range nodes {
		if n.head() != "@repeat" {
			if out != nil {
				out = append(out, n)
			}
			continue
		}
		if out == nil {
			out = append([]node{}, nodes[:at]...)
		}
		times := n.number()
		once := expand(n.list[2:])
		if times > maxRepeated || times*uint64(len(once)) > maxRepeated {
			n.fail("that is repeated too often")
		}
		out = slices.Grow(out, int(times)*len(once))
		for range times {
			out = append(out, once...)
		}
	}
	if out == nil {
		return nodes
	}
	return out
}

// parse reads the text.
func parse(text string) []node {
	l := lexer{text: text, line: 1}
	nodes, closed := l.nodes(0)
	if closed {
		l.fail("a parenthesis too many")
	}
	return nodes
}

type lexer struct {
	text string
	at   int
	line int
}

func (l *lexer) fail(message string) { panic(&syntaxError{l.line, message}) }

// maxDepth bounds how deep lists may lie in each other.
const maxDepth = 1000

// nodes reads up to the end of a list, or of the text.
func (l *lexer) nodes(depth int) (nodes []node, closed bool) {
	if depth > maxDepth {
		l.fail("the parentheses are too deep")
	}
	nodes = []node{}
	for l.skip(); l.at < len(l.text); l.skip() {
		line := l.line
		switch l.text[l.at] {
		case '(':
			l.at++
			list, closed := l.nodes(depth + 1)
			if !closed {
				l.fail("a parenthesis is missing")
			}
			nodes = append(nodes, node{line: line, list: list})
		case ')':
			l.at++
			return nodes, true
		case '"':
			nodes = append(nodes, node{line: line, atom: l.quoted(), quoted: true})
		default:
			end := strings.IndexAny(l.text[l.at:], " \t\r\n()\";")
			if end < 0 {
				end = len(l.text) - l.at
			}
			if end == 0 {
				l.fail("a character that is of no meaning here")
			}
			nodes = append(nodes, node{line: line, atom: l.text[l.at : l.at+end]})
			l.at += end
		}
	}
	return nodes, false
}

// skip passes over white space and comments.
func (l *lexer) skip() {
	for l.at < len(l.text) {
		switch rest := l.text[l.at:]; {
		case rest[0] == '\n':
			l.line++
			l.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.at++
		case strings.HasPrefix(rest, ";;"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				l.at += end
			} else {
				l.at = len(l.text)
			}
		case strings.HasPrefix(rest, "(;"):
			l.comment()
		default:
			return
		}
	}
}

// comment passes over a comment with its end, and comments inside of it.
func (l *lexer) comment() {
	for open := 0; l.at < len(l.text); {
		switch rest := l.text[l.at:]; {
		case strings.HasPrefix(rest, "(;"):
			open++
			l.at += 2
		case strings.HasPrefix(rest, ";)"):
			l.at += 2
			if open--; open == 0 {
				return
			}
		default:
			if rest[0] == '\n' {
				l.line++
			}
			l.at++
		}
	}
	l.fail("a comment that does not end")
}

var errEscape = errors.New("an escape that there is not")

// quoted reads a string.
func (l *lexer) quoted() string {
	l.at++
	var b strings.Builder
	for l.at < len(l.text) {
		c := l.text[l.at]
		l.at++
		switch c {
		case '"':
			return b.String()
		case '\n':
			l.fail("a string that does not end in its line")
		case '\\':
			if err := l.escape(&b); err != nil {
				l.fail(err.Error())
			}
		default:
			b.WriteByte(c)
		}
	}
	l.fail("a string that does not end")
	return ""
}

func (l *lexer) escape(b *strings.Builder) error {
	rest := l.text[l.at:]
	if rest == "" {
		return errEscape
	}
	const plain, meant = `tnr"'\`, "\t\n\r\"'\\"
	if at := strings.IndexByte(plain, rest[0]); at >= 0 {
		b.WriteByte(meant[at])
		l.at++
		return nil
	}
	if end := strings.IndexByte(rest[:min(len(rest), len("u{10ffff}"))], '}'); end > 0 && strings.HasPrefix(rest, "u{") {
		code := rest[len("u{"):end]
		r, err := strconv.ParseUint(code, 16, 21)
		if err != nil {
			return errEscape
		}
		b.WriteRune(rune(r))
		l.at += len("u{}") + len(code)
		return nil
	}
	if len(rest) < 2 {
		return errEscape
	}
	v, err := strconv.ParseUint(rest[:2], 16, 8)
	if err != nil {
		return errEscape
	}
	b.WriteByte(byte(v))
	l.at += 2
	return nil
}

package display

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// Services that run commands read their output, and take some of it for commands to the service:
//
//	::add-mask::x  ::set-env name=PATH::x    GitHub and Gitea, where a line begins so, indented or not
//	##vso[task.setvariable ...]x  ##[group]x Azure, and GitHub, anywhere in a line
//	##teamcity[setParameter ...]             TeamCity
//	--- x  +++ x  ~~~ x  ^^^ +++             Buildkite, at the begin of a line
//
// Others (sections of GitLab, folds of Travis, images of Buildkite) begin with control characters, which are
// escaped anyway. No text of husk looks like that, so it comes from strangers, and one character of it
// becomes a Go escape.

var bracketCommand = lazyregexp.Regexp{Syntax: `##[A-Za-z]*\[`}

// defuse returns text in which no line is a command to a service that runs husk. begun reports whether the
// line that text continues has a character other than white space, the second result the same for the text
// that follows.
func defuse(text string, begun bool) (string, bool) {
	if strings.Contains(text, "##") {
		text = bracketCommand.Get().ReplaceAllStringFunc(text, func(command string) string { return `#\x23` + command[2:] })
	}
	var b strings.Builder
	written := 0
	for at := 0; at < len(text); {
		if begun {
			end := strings.IndexByte(text[at:], '\n')
			if end < 0 {
				break
			}
			at, begun = at+end+1, false
			continue
		}
		if escape, ok := groupCommand(text[at:]); ok && (at == 0 || text[at-1] == '\n') {
			b.WriteString(text[written:at] + escape)
			written, begun = at+1, true
			continue
		}
		at += leading(text[at:])
		if at == len(text) {
			break
		}
		if text[at] == '\n' {
			at++
			continue
		}
		if strings.HasPrefix(text[at:], "::") || text[at:] == ":" {
			b.WriteString(text[written:at] + `\x3a`)
			written = at + 1
		}
		begun = true
	}
	if written == 0 {
		return text, begun
	}
	b.WriteString(text[written:])
	return b.String(), begun
}

// leading returns the length of white space, invisible characters, and colour codes before a line's text.
func leading(line string) int {
	n := 0
	for n < len(line) {
		if line[n] == '\x1b' {
			code := colour.Get().FindString(line[n:])
			if code == "" {
				break
			}
			n += len(code)
			continue
		}
		r, size := utf8.DecodeRuneInString(line[n:])
		if r == '\n' || !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			break
		}
		n += size
	}
	return n
}

// colour matches the escapes that [Style] writes.
var colour = lazyregexp.Regexp{Syntax: `^\x1b\[[0-9;]*m`}

// groupCommand returns the escape of the first character of a line that begins with a command of Buildkite.
// ok is false for other lines.
func groupCommand(line string) (escape string, ok bool) {
	if len(line) < 3 || line[1] != line[0] || line[2] != line[0] || len(line) > 3 && !strings.ContainsRune(" \t\n", rune(line[3])) {
		return "", false
	}
	switch line[0] {
	case '-', '+', '~', '^':
		return fmt.Sprintf(`\x%02x`, line[0]), true
	}
	return "", false
}

// defuseJSON escapes the commands in JSON. No line of JSON can begin with a command.
func defuseJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte("##")) {
		return text
	}
	return bracketCommand.Get().ReplaceAllFunc(text, func(command []byte) []byte { return append([]byte(`\u0023`), command[1:]...) })
}

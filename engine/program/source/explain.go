package source

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// findBadText finds what no YAML file may hold: bytes that are not UTF-8, and
// control characters. The parser tells no place for them.
func findBadText(f *File) (Diagnostic, bool) {
	for i, line := range f.lines {
		line = strings.TrimSuffix(line, "\r")
		column := 0
		for offset, r := range line {
			column++
			at := Position{i + 1, column}
			if r == utf8.RuneError {
				if _, size := utf8.DecodeRuneInString(line[offset:]); size == 1 {
					return f.Errorf(at, "the file is not UTF-8 text: it has the byte 0x%02x here", line[offset]), true
				}
			}
			if unicode.IsControl(r) && r != '\t' && r != 0x85 {
				return f.Errorf(at, "the file has the control character U+%04X here; remove it", r), true
			}
		}
	}
	return Diagnostic{}, false
}

var parserLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// explain turns an error of the YAML parser into one that says what to change.
// The parser tells a line at best, and often that of the enclosing mapping, so
// the place is looked for in the text.
func explain(f *File, err error) Diagnostic {
	line, problem := 0, err.Error()
	if m := parserLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = m[2]
	}
	d := locate(f, line, problem)
	d.Cause = err
	return d
}

func locate(f *File, line int, problem string) Diagnostic {
	lines := scanLines(f)
	switch {
	case strings.Contains(problem, "cannot start any token"):
		if d, ok := findTab(f); ok {
			return d
		}
		if d, ok := findReserved(f, lines); ok {
			return d
		}
	case strings.Contains(problem, "expected alphabetic or numeric character"):
		if d, ok := findReserved(f, lines); ok {
			return d
		}
	case strings.Contains(problem, "escape character"):
		if d, ok := findEscape(f, lines); ok {
			return d
		}
	case strings.Contains(problem, "unexpected end of stream"):
		if d, ok := findOpenQuote(f, lines); ok {
			return d
		}
	case strings.Contains(problem, "unknown anchor"):
		name := strings.TrimSuffix(strings.TrimPrefix(problem, "unknown anchor '"), "' referenced")
		for _, l := range lines {
			if i := strings.Index(l.text, "*"+name); i >= 0 {
				d := f.Errorf(l.position(i), "the alias *%s has no anchor &%s before it", name, name)
				d.Detail = "text that begins with * must be quoted"
				return d
			}
		}
	case strings.Contains(problem, "expected ',' or"):
		if d, ok := findFlow(f, lines, line); ok {
			return d
		}
	}
	// Wrong indentation shows up under many names.
	for _, find := range []func(*File, []sourceLine) (Diagnostic, bool){
		findTabIn, findIndentation, findSecondColon, findMissingColon,
	} {
		if d, ok := find(f, lines); ok {
			return d
		}
	}
	d := f.Errorf(Position{max(line, 1), 1}, "this is not valid YAML: %s", problem)
	d.Detail = "the mistake is on this line or in the block that begins with it"
	return d
}

package source

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// findBadText finds bytes that are not UTF-8, and control characters, which the parser does not place.
func findBadText(f *File) (Diagnostic, bool) {
	if text, _ := f.Line(1); strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return f.Errorf(Position{}, "the file is UTF-16 text: save it as UTF-8"), true
	}
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

var parserLine = lazyregexp.Regexp{Syntax: `^yaml: (?:line (\d+): )?(.*)$`}

// explain turns an error of the YAML parser into one that says what to change. The parser gives a line at best, and often the
// line of the enclosing mapping.
func explain(f *File, err error) Diagnostic {
	line, problem := 0, err.Error()
	if m := parserLine.Get().FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = m[2]
	}
	d := f.Errorf(Position{Line: line}, "%s", problem)
	if !f.foreign { // finding the place may quote the text there
		d = locate(f, line, problem)
	}
	d.Cause = err
	return d
}

// search is the search for the place of a mistake in a file.
type search struct {
	*File
	lines []sourceLine
	// line and problem are the parser's; line is 0 if it gives none.
	line    int
	problem string
}

// finders look for the mistakes that the parser may mean by a problem. The last row is for any
// problem: wrong indentation has many names.
var finders = []struct {
	problem string
	find    []func(search) (Diagnostic, bool)
}{
	{"cannot start any token", []func(search) (Diagnostic, bool){findTab, findReserved}},
	{"expected alphabetic or numeric character", []func(search) (Diagnostic, bool){findReserved}},
	{"escape character", []func(search) (Diagnostic, bool){findEscape}},
	{"unexpected end of stream", []func(search) (Diagnostic, bool){findOpenQuote}},
	{"unknown anchor", []func(search) (Diagnostic, bool){findAnchor}},
	{"expected ',' or", []func(search) (Diagnostic, bool){findFlow}},
	{"expected node content", []func(search) (Diagnostic, bool){findFlow}},
	{"", []func(search) (Diagnostic, bool){findTab, findIndentation, findSecondColon, findMissingColon}},
}

func locate(f *File, line int, problem string) Diagnostic {
	s := search{f, scanLines(f), line, problem}
	if d, ok := findForeignSpace(s); ok {
		return d
	}
	for _, row := range finders {
		if !strings.Contains(problem, row.problem) {
			continue
		}
		for _, find := range row.find {
			if d, ok := find(s); ok {
				return d
			}
		}
	}
	return f.Errorf(Position{max(line, 1), 1}, "this is not valid YAML: %s", problem).
		With("the mistake is on this line or in the block that begins with it")
}

package lsp

import (
	"math"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/husk-dev/husk/engine/program/source"
)

// document is the text of a file, as an editor has it or as it is on disk. It does not change.
type document struct {
	path string
	// given is the URI as the editor has it, empty for a document that is not open.
	given string
	// version is nil for a document that no editor has opened.
	version *int
	text    string
	lines   []string
}

func newDocument(path, text string, version *int) *document {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return &document{path: path, version: version, text: text, lines: lines}
}

func (d *document) uri() string {
	if d.given != "" {
		return d.given
	}
	return pathToURI(d.path)
}

// within returns a position as one in the document: one behind the end of a line, or of the document, is that end.
func (d *document) within(p position) position {
	if p.Line >= len(d.lines) {
		p = position{len(d.lines) - 1, math.MaxInt32}
	}
	return d.at(p.Line, d.column(p))
}

// line returns the text of a line, counted from 0, empty behind the last one.
func (d *document) line(n int) string {
	if n < 0 || n >= len(d.lines) {
		return ""
	}
	return d.lines[n]
}

// column returns the offset of a position in its line, in bytes. One behind the end is the end.
func (d *document) column(p position) int {
	line, units := d.line(p.Line), 0
	for i, r := range line {
		if units >= p.Character {
			return i
		}
		units += utf16.RuneLen(r)
	}
	return len(line)
}

// at returns the position of a byte in a line.
func (d *document) at(line, column int) position {
	units := 0
	for _, r := range d.line(line)[:min(column, len(d.line(line)))] {
		units += utf16.RuneLen(r)
	}
	return position{line, units}
}

// columnOf returns the line, counted from 0, and the offset in it of a position in a file.
func (d *document) columnOf(at source.Position) (line, column int) {
	if at.Line < 1 {
		return 0, 0
	}
	text := d.line(at.Line - 1)
	for range at.Column - 1 {
		_, size := utf8.DecodeRuneInString(text[column:])
		column += size
	}
	return at.Line - 1, column
}

// span returns the range of bytes of a line.
func (d *document) span(line, from, to int) span { return span{d.at(line, from), d.at(line, to)} }

// offset returns the offset of a position in the text.
func (d *document) offset(p position) int {
	offset := 0
	for range p.Line {
		next := strings.IndexByte(d.text[offset:], '\n')
		if next < 0 {
			return len(d.text)
		}
		offset += next + 1
	}
	return offset + d.column(p)
}

// changed returns the document with a part of its text replaced.
func (d *document) changed(change span, text string, version int) *document {
	from, to := d.offset(change.Start), d.offset(change.End)
	out := newDocument(d.path, d.text[:from]+text+d.text[to:], &version)
	out.given = d.given
	return out
}

// token returns the end of the word, the quoted text, or the part of an expression that begins at a column.
func (d *document) token(line, column int) (end int) {
	text := d.line(line)
	if column >= len(text) {
		return len(text)
	}
	if quote := text[column]; quote == '"' || quote == '\'' {
		for i := column + 1; i < len(text); i++ {
			switch {
			case quote == '"' && text[i] == '\\':
				i++
			case text[i] == quote:
				return i + 1
			}
		}
		return len(text)
	}
	if text[column] == '{' || text[column] == '[' {
		return len(strings.TrimRight(text, " "))
	}
	if open := strings.LastIndex(text[:column], "${"); open >= 0 && !strings.Contains(text[open:column], "}") {
		if n := strings.IndexAny(text[column:], ".[]}\" "); n > 0 {
			return column + n
		}
	}
	inFlow := strings.ContainsAny(text[:column], "[{")
	for i := column; i < len(text); i++ {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, ": "), rest == ":", strings.HasPrefix(rest, " #"), inFlow && strings.ContainsRune(",]}", rune(text[i])):
			return column + len(strings.TrimRight(text[column:i], " "))
		}
	}
	return column + len(strings.TrimRight(text[column:], " "))
}

// pathToURI returns the URI of a file.
func pathToURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// uriToPath returns the path of a file, empty for a URI that is not a file's.
func uriToPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path))
}

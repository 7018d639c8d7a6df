package source

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/base/sorted"
)

// Severity separates problems that stop a program from warnings.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// String returns the severity as messages show it.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one problem in a file.
type Diagnostic struct {
	// File is the file's name, empty if the problem is in none.
	File string
	// Line and Column count from 1, columns in characters; both are 0 for the file as a whole.
	Line, Column int
	Severity     Severity
	// Summary is one line: the mistake, and in short what to do.
	Summary string
	// Detail is further lines: what to do next.
	Detail string
	// Cause is the error that the problem was made from, nil if there is none.
	Cause error

	file *File
}

// Errorf returns an error at a position in the file.
func (f *File) Errorf(at Position, format string, args ...any) Diagnostic {
	return Diagnostic{File: f.Name, Line: at.Line, Column: at.Column, Summary: fmt.Sprintf(format, args...), file: f}
}

// With returns the diagnostic with a detail.
func (d Diagnostic) With(detail string) Diagnostic {
	d.Detail = detail
	return d
}

// Error returns the place and the summary: Husk.yaml:12:7: message.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File + ":")
		if d.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", d.Line, d.Column)
		}
		b.WriteByte(' ')
	}
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Summary)
	return b.String()
}

// Unwrap returns the diagnostic's cause.
func (d Diagnostic) Unwrap() error { return d.Cause }

// Render writes the diagnostic with the line it is about:
//
//	Husk.yaml:12:7: unknown property "lenght"
//	   12 |       lenght: 16
//	      |       ^
//	  did you mean "length"?
func (d Diagnostic) Render(w io.Writer) error {
	var b strings.Builder
	b.WriteString(d.Error() + "\n")
	if d.file != nil {
		if text, ok := d.file.shown(d.Line); ok && len(text) <= maxShown {
			text, column := clip(text, d.Column)
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", d.Line, text, caretIndent(text, column))
			if all := []rune(text); column > 0 && column <= len(all) {
				d.Detail = cmp.Or(notYAML(all[column-1]), d.Detail) // what else there is to say takes the character for meant
			}
		}
	}
	if d.Detail != "" {
		for line := range strings.SplitSeq(strings.TrimRight(d.Detail, "\n"), "\n") {
			b.WriteString("  " + line + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxShown bounds the length of a line that is shown in part, in bytes: to find the part, the line is read from its beginning.
const maxShown = 64 << 10

// maxExcerpt bounds the shown part of a line, in characters.
const maxExcerpt = 160

func clip(text string, column int) (string, int) {
	length := utf8.RuneCountInString(text)
	if length <= maxExcerpt {
		return text, column
	}
	start := max(0, min(column-1-maxExcerpt/2, length-maxExcerpt))
	from, to, at := 0, len(text), 0
	for i := range text {
		switch at {
		case start:
			from = i
		case start + maxExcerpt:
			to = i
		}
		at++
	}
	return text[from:to], column - start
}

// caretIndent returns the indentation of a caret under a column: tabs stay tabs.
func caretIndent(text string, column int) string {
	var b strings.Builder
	for _, r := range text {
		if column--; column <= 0 {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Diagnostics are the problems of one reading, an error if one of them is.
type Diagnostics []Diagnostic

// Error returns the diagnostics as [Diagnostics.Render] writes them.
func (ds Diagnostics) Error() string {
	var b strings.Builder
	_ = ds.Render(&b)
	return strings.TrimSuffix(b.String(), "\n")
}

// Unwrap returns the diagnostics one by one, for errors.Is and errors.As.
func (ds Diagnostics) Unwrap() []error {
	errs := make([]error, len(ds))
	for i, d := range ds {
		errs[i] = d
	}
	return errs
}

// Render writes every diagnostic.
func (ds Diagnostics) Render(w io.Writer) error {
	for _, d := range ds {
		if err := d.Render(w); err != nil {
			return err
		}
	}
	return nil
}

// HasErrors reports whether one of the diagnostics is more than a warning.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns the diagnostics as an error if one of them is an error, else nil.
func (ds Diagnostics) Err() error {
	if ds.HasErrors() {
		return ds
	}
	return nil
}

// Sorted returns the diagnostics in the order of the file, each said once.
func (ds Diagnostics) Sorted() Diagnostics {
	out := slices.Clone(ds)
	sorted.By(out, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Summary, b.Summary),
		)
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Summary == b.Summary && a.Detail == b.Detail
	})
}

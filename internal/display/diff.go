package display

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/excerpt"
	"github.com/husk-dev/husk/internal/printable"
)

func reasonOf(s engine.StepInfo) string {
	var names []string
	for _, c := range s.Diff {
		name := c.Path
		if i := strings.IndexAny(name, ".["); i > 0 {
			name = name[:i]
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0:
		return "[" + Escape(strings.Join(names, ", ")) + "]"
	case s.Reason != "":
		return "since " + Escape(s.Reason)
	default:
		return ""
	}
}

// differences returns a line for each property that differs, with the place in long values. Texts of
// several lines are compared line by line.
func differences(style Style, s engine.StepInfo) string {
	var b strings.Builder
	for _, c := range slices.Concat(s.Diff, s.Inputs) {
		replaces := ""
		if c.Replaces {
			replaces = style.note("  (forces replacement)")
		}
		path := Escape(c.Path) + ": "
		switch c.Kind {
		case "add":
			b.WriteString(indent + style.good("+ "+path+Escape(excerpt.Of(c.New))) + replaces + "\n")
		case "delete":
			b.WriteString(indent + style.bad("- "+path+Escape(excerpt.Of(c.Old))) + replaces + "\n")
		default:
			if lines := differingLines(style, c.Old, c.New); lines != nil {
				b.WriteString(indent + style.warning("~ "+strings.TrimSuffix(path, " ")) + replaces + "\n")
				for _, line := range lines {
					b.WriteString(indent + "    " + line + "\n")
				}
				continue
			}
			notASCII := func(r rune) bool { return r > unicode.MaxASCII }
			old, new, at := excerpt.Pair(c.Old, c.New)
			if looksAlike(old, new) {
				old, new = printable.Escape(old, notASCII), printable.Escape(new, notASCII)
			}
			b.WriteString(indent + style.warning("~ "+path) + Escape(old) + " => " + Escape(new) + style.faint(excerpt.Where(at)) + replaces + "\n")
		}
	}
	return b.String()
}

// looksAlike reports whether two renderings differ in characters that are hard to see: those without a
// width, special spaces, and combining accents.
func looksAlike(old, new string) bool {
	a, b := []rune(old), []rune(new)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	hides := func(r rune) bool {
		return r != ' ' && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Zs)
	}
	// An accent follows the letter that it changes.
	return slices.ContainsFunc(a[same:min(len(a), same+2)], hides) || slices.ContainsFunc(b[same:min(len(b), same+2)], hides)
}

// indent begins lines that belong to the line of a step.
const indent = "        "

// maxDiffLines bounds the lines that are shown of one text.
const maxDiffLines = 60

// differingLines compares texts line by line, in the unified format; nil unless one has several lines.
func differingLines(style Style, oldRendered, newRendered string) []string {
	old, isText := text(oldRendered)
	new, areTexts := text(newRendered)
	if !isText || !areTexts || !strings.Contains(old+new, "\n") || old == new {
		return nil
	}
	_, hunks, _ := bytes.Cut(diff.Diff("old", []byte(old), "new", []byte(new)), []byte("\n+++ new\n"))
	lines := strings.Split(strings.TrimSuffix(string(hunks), "\n"), "\n")
	var shown []string
	for i := 0; i < len(lines); {
		removed := countMarked(lines[i:], "-")
		added := countMarked(lines[i+removed:], "+")
		if removed+added == 0 {
			shown = append(shown, style.faint(Escape(shorten(lines[i]))))
			i++
			continue
		}
		shown = append(shown, changedLines(style, lines[i:i+removed], lines[i+removed:i+removed+added])...)
		i += removed + added
	}
	if more := len(shown) - maxDiffLines; more > 0 {
		shown = append(shown[:maxDiffLines], style.faint(fmt.Sprintf("… and %d more lines, which --json has", more)))
	}
	return shown
}

// countMarked returns the number of lines at the beginning that have the mark.
func countMarked(lines []string, mark string) int {
	if i := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, mark) }); i >= 0 {
		return i
	}
	return len(lines)
}

// changedLines shows lines that replace others, and of long lines the place where they differ.
func changedLines(style Style, removed, added []string) []string {
	was, is := make([]string, len(removed)), make([]string, len(added))
	for i, line := range removed {
		was[i] = shorten(line)
	}
	for i, line := range added {
		is[i] = shorten(line)
		if i < len(removed) && (len(line) > longLine || len(removed[i]) > longLine) {
			old, new, at := excerpt.Pair(removed[i][1:], line[1:])
			was[i], is[i] = "-"+old, "+"+new+excerpt.Where(at)
		}
	}
	var shown []string
	for _, line := range was {
		shown = append(shown, style.bad(Escape(line)))
	}
	for _, line := range is {
		shown = append(shown, style.good(Escape(line)))
	}
	return shown
}

// longLine is the length in bytes up to which a line is shown in full.
const longLine = 160

func shorten(line string) string {
	if len(line) <= longLine {
		return line
	}
	return excerpt.Of(line)
}

// text returns the text of a rendering. ok is false for other values.
func text(rendering string) (s string, ok bool) {
	if !strings.HasPrefix(rendering, `"`) {
		return "", false
	}
	s, err := strconv.Unquote(rendering)
	return s, err == nil
}

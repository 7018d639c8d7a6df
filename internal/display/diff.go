package display

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/excerpt"
	"github.com/husk-dev/husk/internal/base/printable"
)

func reasonOf(s engine.StepInfo) string {
	var names []string
	for _, c := range s.Diff {
		name := c.Path
		if i := strings.IndexAny(name, ".["); i > 0 {
			name = name[:i]
		}
		if name == "__internal" {
			name = "its module"
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

// differences returns lines for each property that differs. Texts of several lines are compared line by line, and texts that hold
// JSON, YAML, or base64 by their contents. Of values beyond a bound the part is shown where they differ.
func differences(style Style, s engine.StepInfo) string {
	return differencesBelow(style, slices.Concat(s.Diff, s.Inputs), indent)
}

// differencesBelow is differences with an indentation.
func differencesBelow(style Style, changes []engine.PropertyChange, indent string) string {
	var b strings.Builder
	for _, c := range changes {
		replaces := ""
		if c.Replaces {
			replaces = style.note("  (forces replacement)")
		}
		path := Escape(c.Path) + ":"
		block := func(paint func(Style, string) string, symbol, remark string, lines []string) {
			b.WriteString(indent + paint(style, symbol+path) + remark + replaces + "\n")
			for _, line := range lines {
				b.WriteString(indent + "    " + line + "\n")
			}
		}
		switch c.Kind {
		case "add":
			first, lines := wholeValue(c.New)
			block(Style.good, "+ ", style.good(first), boundedLines(style, lines))
		case "delete":
			first, lines := wholeValue(c.Old)
			block(Style.bad, "- ", style.bad(first), boundedLines(style, lines))
		case "move":
			block(Style.note, "> ", " "+Escape(excerpt.Of(c.New))+style.faint(" (was "+Escape(c.From)+")"), nil)
		default:
			if kind, lines := differingTexts(style, c.Old, c.New); lines != nil {
				if kind != "" {
					kind = style.faint(" (" + kind + ")")
				}
				block(Style.warning, "~ ", kind, boundedLines(style, lines))
				continue
			}
			block(Style.warning, "~ ", pair(style, c.Old, c.New, indent), nil)
		}
	}
	return b.String()
}

// pair returns two renderings behind the name of their property, in lines of their own if they are long.
func pair(style Style, before, after, indent string) string {
	if before == after && before == maskedSecret {
		return " " + before + style.faint(" (changed)")
	}
	notASCII := func(r rune) bool { return r > unicode.MaxASCII }
	old, new, at := excerpt.Pair(before, after)
	if at > 0 && len(before) <= maxWhole && len(after) <= maxWhole {
		return "\n" + indent + "    " + style.bad("- "+Escape(before)) + "\n" + indent + "    " + style.good("+ "+Escape(after))
	}
	if looksAlike(old, new) {
		old, new = printable.Escape(old, notASCII), printable.Escape(new, notASCII)
	}
	return " " + Escape(old) + " => " + Escape(new) + style.faint(excerpt.Where(at))
}

// maskedSecret is the rendering of a secret.
var maskedSecret = property.Render(property.Secret(property.Null))

// maxWhole is the size in bytes up to which a value is shown whole.
const maxWhole = 1000

// wholeValue returns a rendering behind the name of its property: in the same line, or as lines if it is a text that has some.
func wholeValue(rendering string) (first string, lines []string) {
	if s, ok := text(rendering); ok && strings.Contains(strings.TrimRight(s, "\n"), "\n") {
		for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
			lines = append(lines, Escape(shorten(line)))
		}
		return "", lines
	}
	if len(rendering) <= maxWhole {
		return " " + Escape(excerpt.Whole(rendering)), nil
	}
	return " " + Escape(excerpt.Of(rendering)), nil
}

// differingTexts compares two renderings of texts by their contents, or by line. It returns no lines if that says no more than
// the texts themselves.
func differingTexts(style Style, before, after string) (kind string, lines []string) {
	old, isText := text(before)
	new, areTexts := text(after)
	if !isText || !areTexts || old == new {
		return "", nil
	}
	if kind, lines := inside(style, old, new); kind != "" {
		return kind, lines
	}
	return "", comparedLines(style, old, new)
}

// boundedLines returns lines up to a maximum.
func boundedLines(style Style, lines []string) []string {
	if more := len(lines) - maxDiffLines; more > 0 {
		return append(lines[:maxDiffLines:maxDiffLines], style.faint(fmt.Sprintf("… and %d more lines, which --json has", more)))
	}
	return lines
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

// comparedLines compares texts line by line, in the unified format; nil unless one has several lines.
func comparedLines(style Style, old, new string) []string {
	if !strings.Contains(old+new, "\n") {
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

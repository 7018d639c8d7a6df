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
)

// because says in few words why a step is taken: its reason, or the top-level
// properties that differ.
func because(s engine.StepInfo) string {
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

// differences shows each property that differs on a line of its own, with the place where
// long values do; texts of several lines line by line.
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
			old, new, at := excerpt.Pair(c.Old, c.New)
			if looksAlike(old, new) {
				old, new = inASCII(old), inASCII(new)
			}
			b.WriteString(indent + style.warning("~ "+path) + Escape(old) + " => " + Escape(new) + style.faint(excerpt.Where(at)) + replaces + "\n")
		}
	}
	return b.String()
}

// looksAlike reports whether two renderings may differ in what is hard to see: characters without
// a width, spaces that are no spaces, and accents that are characters of their own.
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

// inASCII writes all other characters of a rendering as escapes.
func inASCII(rendering string) string {
	var b strings.Builder
	for _, r := range rendering {
		switch {
		case r <= unicode.MaxASCII:
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// indent is what lines begin with that belong to the line of a step.
const indent = "        "

// maxDiffLines bounds the lines that are shown of one text.
const maxDiffLines = 60

// differingLines compares two texts line by line, in the unified format; nil where they are
// no texts, or none of several lines.
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
		removed := marked(lines[i:], "-")
		added := marked(lines[i+removed:], "+")
		if removed+added == 0 {
			shown = append(shown, style.faint(Escape(shortened(lines[i]))))
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

// marked counts the lines at the beginning that have the mark.
func marked(lines []string, mark string) int {
	if i := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, mark) }); i >= 0 {
		return i
	}
	return len(lines)
}

// changedLines shows lines in place of others. Of long ones it shows where they differ.
func changedLines(style Style, removed, added []string) []string {
	was, is := make([]string, len(removed)), make([]string, len(added))
	for i, line := range removed {
		was[i] = shortened(line)
	}
	for i, line := range added {
		is[i] = shortened(line)
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

// longLine is the length of a line, in bytes, that is not shown as a whole.
const longLine = 160

func shortened(line string) string {
	if len(line) <= longLine {
		return line
	}
	return excerpt.Of(line)
}

// text is the text that a rendering is of, and whether it is one.
func text(rendering string) (string, bool) {
	if !strings.HasPrefix(rendering, `"`) {
		return "", false
	}
	s, err := strconv.Unquote(rendering)
	return s, err == nil
}

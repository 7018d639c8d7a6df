// Package yamlformat writes YAML in one form: two spaces of indentation, one blank line at most, no spaces at the ends of lines.
// Comments, quotes, the style of lists and mappings, and the order of keys stay as they are.
package yamlformat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// blank stands for a blank line while a document is encoded, because the encoder knows only comments.
const blank = "#\u2060blank line\u2060"

// Format returns a document in the one form. It fails if the text is not YAML, or if the result would mean something else.
func Format(text []byte) ([]byte, error) {
	if source.Parts(text) > source.MaxParts {
		return nil, fmt.Errorf("it has more than %d lines, entries, and comments", source.MaxParts)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.Contains(text, []byte(blank)) {
		return nil, errors.New("the file has a comment that stands for a blank line while it is formatted")
	}
	if bytes.ContainsAny(text, "\r\u0085\u2028\u2029") {
		return nil, errors.New("it has characters that only some programs read as line ends: carriage returns, U+0085, U+2028, or U+2029")
	}
	root, err := parse(text)
	if err != nil || root == nil {
		return text, err
	}
	replaced, back := standIns(string(markBlankLines(text, root)))
	marked, err := parse([]byte(replaced))
	if err != nil {
		return nil, fmt.Errorf("with its blank lines as comments: %w", err)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(marked); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	formatted := unmark(back.Replace(b.String()))
	again, err := parse(formatted)
	if err != nil {
		return nil, fmt.Errorf("the formatted text cannot be read: %w", err)
	}
	if again == nil || !same(root, again) {
		return nil, errors.New("the formatted text would mean something else; the file stays as it is")
	}
	return formatted, nil
}

// The private characters that stand in for others while a document is encoded.
const firstPrivate, lastPrivate = '\uE000', '\uF8FF'

// standIns replaces the characters that the encoder would write as escapes, such as emoji, by private ones that the text does not
// have. back restores them.
func standIns(text string) (replaced string, back *strings.Replacer) {
	given := make(map[rune]rune)
	var pairs []string
	next := firstPrivate
	replaced = strings.Map(func(r rune) rune {
		if r <= '\uFFFF' {
			return r
		}
		if given[r] == 0 {
			for next <= lastPrivate && strings.ContainsRune(text, next) {
				next++
			}
			if next > lastPrivate {
				return r
			}
			given[r] = next
			pairs = append(pairs, string(next), string(r))
			next++
		}
		return given[r]
	}, text)
	return replaced, strings.NewReplacer(pairs...)
}

// parse returns the document of a text, nil if there is none.
func parse(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, nil
		}
		return nil, err
	}
	if decoder.Decode(new(yaml.Node)) == nil {
		return nil, errors.New("it has more than one document")
	}
	return &root, nil
}

// markBlankLines puts a comment in the place of each group of blank lines outside of texts.
func markBlankLines(text []byte, root *yaml.Node) []byte {
	lines := strings.Split(strings.TrimRight(string(text), "\n \t"), "\n")
	inText := textLines(root, lines)
	var out []string
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) != "" || inText[i]:
			out = append(out, line)
		case len(out) > 0 && strings.TrimSpace(out[len(out)-1]) != blank:
			out = append(out, indentOfNext(lines[i:])+blank)
		}
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// indentOfNext returns the indentation of the next line that is not blank.
func indentOfNext(lines []string) string {
	for _, line := range lines {
		if trimmed := strings.TrimLeft(line, " "); strings.TrimSpace(trimmed) != "" {
			return line[:len(line)-len(trimmed)]
		}
	}
	return ""
}

// textLines returns which lines, counted from 0, belong to texts of several lines.
func textLines(root *yaml.Node, lines []string) map[int]bool {
	in := map[int]bool{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for _, child := range n.Content {
			walk(child)
		}
		if n.Kind != yaml.ScalarNode {
			return
		}
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			first, end := n.Line, n.Line // from the line below the one with | or >
			indent := max(1, len(indentOfNext(lines[min(first, len(lines)):])))
			keeps := strings.Contains(lines[n.Line-1], "|+") || strings.Contains(lines[n.Line-1], ">+")
			for i := first; i < len(lines); i++ {
				isBlank := strings.TrimSpace(lines[i]) == ""
				if !isBlank && len(lines[i])-len(strings.TrimLeft(lines[i], " ")) < indent {
					break
				}
				if !isBlank || keeps { // else blank lines at the end are not part of the text
					end = i + 1
				}
			}
			for i := first; i < end; i++ {
				in[i] = true
			}
			return
		}
		for i := range quotedLines(n, lines) {
			in[n.Line-1+i] = true
		}
	}
	walk(root)
	return in
}

// quotedLines returns the number of lines that a text between quotes takes, 1 for others.
func quotedLines(n *yaml.Node, lines []string) int {
	quote := byte('\'')
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		quote = '"'
	case n.Style&yaml.SingleQuotedStyle == 0:
		return 1
	}
	first := []rune(lines[n.Line-1])
	rest := string(first[min(n.Column, len(first)):]) // behind the quote
	for count := 1; ; count++ {
		if closes(rest, quote) || n.Line-1+count >= len(lines) {
			return count
		}
		rest = lines[n.Line-1+count]
	}
}

// closes reports whether a line ends a quoted text that it is in.
func closes(line string, quote byte) bool {
	for i := 0; i < len(line); i++ {
		switch {
		case quote == '"' && line[i] == '\\', line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return true
		}
	}
	return false
}

// unmark makes blank lines of their comments, and removes those at the ends of the document.
func unmark(text string) []byte {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == blank {
			line = ""
		}
		out = append(out, line)
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	return []byte(strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n")
}

// same reports whether two documents have the same values and comments.
func same(a, b *yaml.Node) bool {
	return sameValues(a, b) && slices.Equal(comments(a, nil), comments(b, nil))
}

func sameValues(a, b *yaml.Node) bool {
	const kept = yaml.TaggedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.FlowStyle // the encoder may add quotes
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor && a.Style&kept == b.Style&kept &&
		slices.EqualFunc(a.Content, b.Content, sameValues)
}

// comments returns the words of all comments, sorted: a comment may belong to another value if there are fewer blank lines.
func comments(n *yaml.Node, words []string) []string {
	for _, c := range n.Content {
		words = comments(c, words)
	}
	words = append(words, strings.Fields(n.HeadComment+" "+n.LineComment+" "+n.FootComment)...)
	slices.Sort(words)
	return words
}

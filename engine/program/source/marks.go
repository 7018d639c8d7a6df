package source

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// mark begins an expression in a text.
const mark = "${"

// Within returns the position of the occurrence-th "${" (from 0) in the source text of a scalar, moved on by offset characters.
// If the source spells the text differently, it returns the position of the scalar.
func (f *File) Within(n *yaml.Node, occurrence, offset int) Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.marks == nil && f.root != nil {
		f.marks = f.findMarks()
	}
	if all := f.marks[n]; occurrence < len(all) {
		at := all[occurrence]
		at.Column += offset
		return at
	}
	return Of(n)
}

// findMarks goes through the file once: programs can have a mistake in each of their texts.
func (f *File) findMarks() map[*yaml.Node][]Position {
	var nodes []*yaml.Node // in the order of the file
	var collect func(*yaml.Node)
	collect = func(n *yaml.Node) {
		nodes = append(nodes, n)
		for _, child := range n.Content {
			collect(child)
		}
	}
	collect(f.root)
	// The source of a scalar ends where the next node begins.
	ends := make([]Position, len(nodes))
	end := Position{Line: len(f.lines) + 1, Column: 1}
	for i := len(nodes) - 1; i >= 0; i-- {
		if i+1 < len(nodes) && Of(nodes[i]).before(Of(nodes[i+1])) {
			end = Of(nodes[i+1])
		}
		ends[i] = end
	}
	marks := map[*yaml.Node][]Position{}
	c := cursor{file: f}
	for i, n := range nodes {
		if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, mark) {
			marks[n] = c.find(Of(n), ends[i])
		}
	}
	return marks
}

func (p Position) before(q Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// cursor is a place in a file, from which it only moves on.
type cursor struct {
	file *File
	Position
	// text is the rest of the line.
	text string
}

// find returns the marks between two places, and moves on to the second.
func (c *cursor) find(from, to Position) (found []Position) {
	c.move(from)
	for c.before(to) {
		at := strings.Index(c.text, mark)
		if at < 0 {
			c.move(Position{min(c.Line+1, to.Line), 1})
			if c.Line == to.Line {
				c.move(to)
			}
			continue
		}
		next := Position{c.Line, c.Column + utf8.RuneCountInString(c.text[:at])}
		if !next.before(to) {
			break
		}
		found = append(found, next)
		c.Column, c.text = next.Column+len(mark), c.text[at+len(mark):]
	}
	return found
}

// move moves the cursor on to a place.
func (c *cursor) move(to Position) {
	if !c.before(to) {
		return
	}
	if c.Line < to.Line {
		c.Position = Position{to.Line, 1}
		c.text, _ = c.file.Line(to.Line)
	}
	for c.Column < to.Column {
		_, size := utf8.DecodeRuneInString(c.text)
		c.Column, c.text = c.Column+1, c.text[size:]
	}
}

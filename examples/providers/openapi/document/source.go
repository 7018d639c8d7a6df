package document

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

// indexOf reads a document, in JSON or YAML.
func indexOf(text []byte) (*index, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	inJSON := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	if inJSON {
		x := newIndex()
		err := x.read(text)
		if err == nil {
			return x, nil
		}
		if asYAML, yamlErr := yamlIndex([][]byte{text}); yamlErr == nil {
			return asYAML, nil // flow mappings
		}
		return nil, err
	}
	// A large document is parsed piece by piece, if it has a customary form. The tree of all of it would take ten times
	// its memory.
	if pieces := piecesOf(text, pieceSize); len(pieces) > 1 {
		if x, err := yamlIndex(pieces); err == nil {
			return x, nil
		}
	}
	return yamlIndex([][]byte{text})
}

func yamlIndex(pieces [][]byte) (*index, error) {
	x := newIndex()
	for _, piece := range pieces {
		text, err := yaml.YAMLToJSON(piece)
		if err != nil {
			return nil, errors.New("it is neither JSON nor YAML: " + err.Error())
		}
		if len(pieces) > 1 && string(text) == "null" {
			continue // comments
		}
		if err := x.read(text); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// pieceSize is the size of a piece in bytes, from which on the next one begins as soon as it can.
const pieceSize = 64 << 10

// collections are the members of a document that can be cut, with the depth of the cut.
var collections = map[string]int{"paths": 1, "definitions": 1, "parameters": 1, "responses": 1, "components": 2}

var blockKey = regexp.MustCompile(`^( *)("[^"]*"|'[^']*'|[^\s"'#&*!|>%@{}\[\],?-][^#]*?|-[^\s#][^#]*?) *:(\s|$)`)

// piecesOf cuts a YAML document between the members of its collections. Each piece repeats the keys that lead to it.
func piecesOf(text []byte, size int) [][]byte {
	if len(text) < size {
		return nil
	}
	var pieces [][]byte
	var piece bytes.Buffer
	var above [][]byte // the lines of the keys that lead to the current place
	var indents []int
	depth := 0 // how deep the collection may be cut
	end := func() {
		if piece.Len() > 0 {
			pieces = append(pieces, slices.Clone(piece.Bytes()))
			piece.Reset()
		}
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("---")) && len(pieces) == 0 && piece.Len() == 0 {
			continue
		}
		key := blockKey.FindSubmatch(line)
		if key == nil {
			piece.Write(line)
			continue
		}
		indent := len(key[1])
		if indent == 0 {
			if piece.Len() >= size || depth > 0 {
				end()
			}
			name := strings.Trim(string(key[2]), `"'`)
			depth = collections[name]
			above, indents = [][]byte{bytes.Clone(line)}, []int{0}
			piece.Write(line)
			continue
		}
		for len(indents) > 1 && indent < indents[len(indents)-1] {
			above, indents = above[:len(above)-1], indents[:len(indents)-1]
		}
		switch level := len(indents); {
		case depth == 0 || level > depth+1:
		case indent == indents[level-1] && level > 1: // a further member beside the last one
			if piece.Len() >= size || level <= depth {
				end()
				for _, line := range above[:level-1] {
					piece.Write(line)
				}
			}
			above[level-1] = bytes.Clone(line)
		case indent > indents[level-1] && level <= depth: // the first member of a collection
			above, indents = append(above, bytes.Clone(line)), append(indents, indent)
		}
		piece.Write(line)
	}
	end()
	return pieces
}

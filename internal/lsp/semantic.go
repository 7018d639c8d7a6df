package lsp

import (
	"cmp"
	"context"

	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// The kinds of tokens, by their place in tokenTypes.
const (
	tokenNamespace = iota
	tokenClass
	tokenFunction
	tokenVariable
	tokenProperty
)

// tokenTypes are the names of the kinds in the protocol.
var tokenTypes = []string{"namespace", "class", "function", "variable", "property"}

// declares is the bit of the only modifier, of the place where a name is declared.
const declares = 1

// semanticToken is the range of a word, with its kind.
type semanticToken struct {
	at              span
	kind, modifiers int
}

// semanticTokens returns the kinds of the keys, types, functions, and references of a document.
func (s *server) semanticTokens(ctx context.Context, p positionParams) (semanticTokens, error) {
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil {
		return semanticTokens{Data: []int{}}, nil
	}
	var tokens []semanticToken
	t.walk(func(at *place) bool {
		if kind, modifiers, ok := tokenOf(at); ok {
			tokens = append(tokens, semanticToken{t.nodeSpan(at.node), kind, modifiers})
		}
		return false
	})
	if t == v.program {
		for _, r := range v.names.references {
			for i, part := range r.parts {
				kind := tokenProperty
				if i == 0 {
					kind = tokenVariable
				}
				tokens = append(tokens, semanticToken{part, kind, 0})
			}
		}
	}
	return semanticTokens{Data: encode(tokens)}, nil
}

// tokenOf returns the kind and modifiers of a key or value. ok is false for data.
func tokenOf(at *place) (kind, modifiers int, ok bool) {
	path := at.path
	if len(path) == 0 {
		return 0, 0, false
	}
	last := path[len(path)-1]
	isName := declaresNames(path[0])
	switch {
	case at.isKey && len(path) == 1:
		return tokenNamespace, 0, true
	case at.isKey && len(path) == 2 && isName:
		return tokenVariable, declares, true
	case at.isKey && expr.IsFunction(last):
		return tokenFunction, 0, true
	case at.isKey:
		return tokenProperty, 0, true
	case path[0] == resources && len(path) == 3 && last == "type":
		return tokenClass, 0, true
	case path[0] == actions && len(path) == 3 && last == "function", len(path) > 1 && path[len(path)-2] == "fn::invoke" && last == "function":
		return tokenFunction, 0, true
	}
	return 0, 0, false
}

// encode returns tokens in the protocol's form: five numbers for each, with its place relative to the token before. Of tokens that
// overlap, only the first counts.
func encode(tokens []semanticToken) []int {
	data := make([]int, 0, 5*len(tokens))
	sorted.By(tokens, func(a, b semanticToken) int {
		return cmp.Or(cmp.Compare(a.at.Start.Line, b.at.Start.Line), cmp.Compare(a.at.Start.Character, b.at.Start.Character))
	})
	var last span
	for _, t := range tokens {
		length := t.at.End.Character - t.at.Start.Character
		if length <= 0 || t.at.Start.before(last.End) {
			continue
		}
		line, character := t.at.Start.Line-last.Start.Line, t.at.Start.Character
		if line == 0 {
			character -= last.Start.Character
		}
		data = append(data, line, character, length, t.kind, t.modifiers)
		last = t.at
	}
	return data
}

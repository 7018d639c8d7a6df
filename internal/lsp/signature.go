package lsp

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// signature returns the parameters of the function whose arguments a position is in, and which of them it is.
func (s *server) signature(ctx context.Context, p positionParams) (*signatureHelp, error) {
	path := uriToPath(p.TextDocument.URI)
	d, v := s.document(path), s.view(ctx, path)
	if d == nil || v == nil || v.tree(path) == nil {
		return nil, nil
	}
	at := newCursor(d, p.Position).place()
	if at == nil {
		return nil, nil
	}
	for i := len(at.path) - 1; i >= 0; i-- {
		if help := v.signatureAt(ctx, at, i); help != nil {
			for j := range help.Signatures {
				help.Signatures[j].Documentation = s.hide(help.Signatures[j].Documentation)
			}
			return help, nil
		}
	}
	return nil, nil
}

// hide returns a text without secrets.
func (s *server) hide(m *markup) *markup {
	if m != nil {
		m.Value = s.options.Secrets.In(m.Value)
	}
	return m
}

// signatureAt returns the signature of the function that a step of the path to a place calls, nil if it calls none.
func (v *view) signatureAt(ctx context.Context, at *place, step int) *signatureHelp {
	name := at.path[step]
	token, isFunction := strings.CutPrefix(name, "fn::")
	inArguments := step+1 < len(at.path)
	switch {
	case name == "arguments" && step > 0 && at.path[step-1] == "fn::invoke", name == "arguments" && step == 2 && at.path[0] == actions:
		return v.signatureOf(ctx, text(fieldAt(at.around[step], "function")), at.path[step+1:])
	case isFunction && strings.Contains(token, ":"):
		return v.signatureOf(ctx, token, at.path[step+1:])
	case isFunction && (inArguments || !at.isKey):
		return builtinSignature(name, at, step)
	}
	return nil
}

// signatureOf returns the signature of a provider's function. path are the steps in its arguments.
func (v *view) signatureOf(ctx context.Context, token string, path []string) *signatureHelp {
	f := v.function(ctx, token)
	if f == nil {
		return nil
	}
	help := &signatureHelp{}
	signature := signatureInformation{Documentation: markdown(escape(f.Description)), Parameters: []parameterInformation{}}
	var labels []string
	for i := range f.Args.Properties {
		p := &f.Args.Properties[i]
		label := p.Name + ": " + typeText(p.Type)
		if !p.Required {
			label = p.Name + "?: " + typeText(p.Type)
		}
		if len(path) > 0 && path[0] == p.Name {
			help.ActiveParameter = i
		}
		labels = append(labels, label)
		signature.Parameters = append(signature.Parameters, parameterInformation{label, markdown(propertyText(p))})
	}
	signature.Label = schema.ShortToken(f.Token) + "(" + strings.Join(labels, ", ") + ")"
	help.Signatures = []signatureInformation{signature}
	return help
}

// builtinSignature returns the signature of a built-in function, which a step of the path to a place calls.
func builtinSignature(name string, at *place, step int) *signatureHelp {
	parameters, ok := expr.Parameters(name)
	n := projectschema.Root().Definitions["functions"].Properties[name]
	if !ok || n == nil {
		return nil
	}
	help := &signatureHelp{}
	signature := signatureInformation{Label: name, Documentation: markdown(escape(n.Text())), Parameters: []parameterInformation{}}
	if len(parameters) > 0 {
		signature.Label += ": [" + strings.Join(parameters, ", ") + "]"
	}
	for _, p := range parameters {
		signature.Parameters = append(signature.Parameters, parameterInformation{Label: p})
	}
	if step+1 < len(at.around) && at.around[step+1].Kind == yaml.SequenceNode {
		inner := at.node
		if step+2 < len(at.around) {
			inner = at.around[step+2]
		}
		help.ActiveParameter = max(0, slices.Index(at.around[step+1].Content, inner))
	}
	help.Signatures = []signatureInformation{signature}
	return help
}

package lsp

import (
	"context"

	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// hints returns the types of the variables and outputs in a range that are not written there.
func (s *server) hints(ctx context.Context, p rangeParams) ([]inlayHint, error) {
	out := []inlayHint{}
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil || t != v.program {
		return out, nil
	}
	for _, d := range v.names.all {
		at := t.nodeSpan(d.key)
		if d.section != variables && d.section != outputs || !at.overlaps(p.Range) {
			continue
		}
		typ := v.typeOfExpression(ctx, expr.Parse(&source.Report{File: t.file}, d.value), 0)
		if text := typeText(typ); text != "" {
			out = append(out, inlayHint{Position: at.End, Label: s.options.Secrets.In(": " + text), Kind: hintType})
		}
	}
	return out, ctx.Err()
}

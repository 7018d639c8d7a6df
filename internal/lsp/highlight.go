package lsp

import "context"

// highlight returns where a document has the name at a position: its declaration, and its uses.
func (s *server) highlight(ctx context.Context, p positionParams) ([]documentHighlight, error) {
	out := []documentHighlight{}
	v, d, _ := s.named(ctx, p)
	if d == nil {
		return out, nil
	}
	path := uriToPath(p.TextDocument.URI)
	if d.tree.path == path {
		out = append(out, documentHighlight{d.tree.nodeSpan(d.key), highlightWrite})
	}
	if v.program.path == path {
		for _, r := range v.names.uses(d) {
			out = append(out, documentHighlight{r.parts[0], highlightRead})
		}
	}
	return out, nil
}

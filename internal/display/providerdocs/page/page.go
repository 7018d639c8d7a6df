// Package page makes HTML pages from documents in Markdown. It is apart from package providerdocs because of the packages that it
// links.
package page

import (
	"bytes"
	"html"
	"regexp"
	"strconv"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/husk-dev/husk/internal/display/providerdocs"
)

// headings gives headings the anchors that GitHub gives them.
type headings struct{ seen map[string]int }

func (h *headings) Generate(value []byte, _ ast.NodeKind) []byte {
	name := providerdocs.Anchor(regexp.MustCompile(`\\(.)`).ReplaceAllString(string(value), "$1"))
	if name == "" {
		name = "section"
	}
	h.seen[name]++
	if n := h.seen[name]; n > 1 {
		return []byte(name + "-" + strconv.Itoa(n-1))
	}
	return []byte(name)
}

func (h *headings) Put([]byte) {}

// Of returns a page of a document of Markdown. HTML inside of the document is left out, and a browser loads no image of it.
func Of(title string, markdown []byte) ([]byte, error) {
	converter := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var body bytes.Buffer
	ids := &headings{seen: map[string]int{}}
	if err := converter.Convert(markdown, &body, parser.WithContext(parser.NewContext(parser.WithIDs(ids)))); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	page.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<meta name=\"color-scheme\" content=\"light dark\">\n" +
		"<title>" + html.EscapeString(title) + "</title>\n<style>\n" + style + "</style>\n</head>\n<body>\n<main>\n")
	page.Write(regexp.MustCompile(`(?s)<table>.*?</table>`).ReplaceAllFunc(body.Bytes(), func(table []byte) []byte {
		return append(append([]byte("<div class=\"table\" tabindex=\"0\">"), table...), "</div>"...)
	}))
	page.WriteString("</main>\n</body>\n</html>\n")
	return page.Bytes(), nil
}

// style has the colours of both themes, each with a contrast of 4.5 or more.
const style = `:root { --text: #1c2128; --back: #ffffff; --soft: #57606a; --line: #d0d7de; --link: #0550ae; --code: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --back: #0d1117; --soft: #9da7b3; --line: #30363d; --link: #79b8ff; --code: #161b22; }
}
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .75rem; }
h1 { margin-top: 0; }
h2, h3 { border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
a { color: var(--link); }
code, pre { font: .9em/1.5 ui-monospace, monospace; background: var(--code); border-radius: 4px; }
code { padding: .1em .3em; }
pre { padding: .75rem 1rem; overflow-x: auto; }
pre code { padding: 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td em { color: var(--soft); }
@media (max-width: 30rem) { th, td { padding: .35rem .4rem; } }
`

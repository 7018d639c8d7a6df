package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// source is the URL of files of the project that are not pages.
const source = "https://github.com/husk-dev/husk/blob/main/"

// group is a part of the navigation. Its pages are Markdown files from the root of the project.
type group struct {
	Name  string
	Files []string
}

// groups have all documents. The first page is the site's first.
var groups = []group{
	{"Start", []string{"README.md", "docs/install.md", "docs/tutorial.md", "docs/tutorial-terraform.md", "docs/tutorial-provider.md", "docs/tutorial-provider-c.md", "docs/tutorial-provider-typescript.md", "docs/tutorial-provider-python.md", "docs/tutorial-provider-rust.md", "docs/concepts.md", "docs/comparison.md", "docs/migration.md", "docs/pulumi-cli.md"}},
	{"Use", []string{"docs/using.md", "docs/programs.md", "docs/programs-wasm.md", "docs/pulumi.md", "docs/pulumi-yaml.md", "docs/pulumi-dynamic.md", "docs/project.md", "docs/commands.md", "docs/grants.md", "docs/secrets.md", "docs/policy.md", "docs/registry.md", "docs/editors.md", "docs/console.md", "docs/traces.md", "docs/troubleshooting.md"}},
	{"Author", []string{"docs/testing-providers.md", "docs/publishing.md", "docs/contract.md", "docs/porting.md"}},
	{"Operate", []string{"docs/state.md", "docs/runners.md", "docs/operations.md", "docs/webhooks.md", "docs/scale.md", "docs/ci.md", "docs/security.md", "docs/performance.md"}},
	{"Inside", []string{"docs/embedding.md", "docs/engine.md", "RATIONALE.md", "CONTRIBUTING.md"}},
}

//go:embed page.html style.css site.js
var assets embed.FS

// page is a document.
type page struct {
	file, Title, URL string
	source           []byte
	tree             ast.Node
	headings         []heading
	// parts are the pages of a document that has several, by the heading that each was in it, and In the page that lists them.
	parts map[string]*page
	In    *page
}

type heading struct {
	Level    int
	ID, Text string
}

// section is an entry of the search: what stands below a heading.
type section struct {
	Page  string `json:"p"`
	Title string `json:"t"`
	URL   string `json:"u"`
	Text  string `json:"x"`
}

type site struct {
	root  string
	pages map[string]*page
	// files are the files that pages show, such as pictures, from the root of the project.
	files    map[string]bool
	problems []error
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// write makes the site of the project at root, and returns the number of its pages.
func write(root, out string) (int, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string]bool{}}
	if err := s.read(); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return 0, err
	}
	layout, err := template.ParseFS(assets, "page.html")
	if err != nil {
		return 0, err
	}
	all := s.all()
	for _, p := range all {
		s.link(p)
		var body, whole bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return 0, err
		}
		current := p
		if p.In != nil {
			current = p.In
		}
		err := layout.Execute(&whole, map[string]any{
			"Page": p, "Current": current, "Groups": groups, "Pages": s.pages, "Body": template.HTML(body.String()), "Contents": p.contents(),
		})
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(out, p.URL), whole.Bytes(), 0o644); err != nil {
			return 0, err
		}
	}
	if len(s.problems) > 0 {
		return 0, errors.Join(s.problems...)
	}
	index, err := json.Marshal(s.sections())
	if err != nil {
		return 0, err
	}
	script, err := assets.ReadFile("site.js")
	if err != nil {
		return 0, err
	}
	style, err := assets.ReadFile("style.css")
	if err != nil {
		return 0, err
	}
	written := map[string][]byte{"site.js": append([]byte("const sections = "+string(index)+";\n"), script...), "style.css": style}
	for file := range s.files {
		if written[path.Base(file)], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			return 0, err
		}
	}
	for name, content := range written {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// all returns the pages in the order of the navigation, each before its parts.
func (s *site) all() (all []*page) {
	for _, g := range groups {
		for _, file := range g.Files {
			p := s.pages[file]
			all = append(all, p)
			for _, h := range p.headings {
				if part := p.parts[h.ID]; part != nil {
					all = append(all, part)
				}
			}
		}
	}
	return all
}

// divided has a page for each heading of these documents, which are long.
var divided = []string{"docs/commands.md"}

// divide makes a page of each heading of the second level, and leaves a list of them.
func divide(p *page) *page {
	before, rest, _ := bytes.Cut(p.source, []byte("\n## "))
	list := bytes.NewBuffer(append(before, '\n'))
	var parts []*page
	for text := range bytes.SplitSeq(rest, []byte("\n## ")) {
		name, _, _ := bytes.Cut(text, []byte("\n"))
		part := parse(p.file, slices.Concat([]byte("# "), text))
		part.URL = part.headings[0].ID + ".html"
		parts = append(parts, part)
		// A list has no headings. Links name the headings of the parts.
		fmt.Fprintf(list, "- [%s](#%s)\n", name, part.headings[0].ID)
	}
	whole := parse(p.file, list.Bytes())
	whole.parts = map[string]*page{}
	for _, part := range parts {
		part.In = whole
		whole.parts[part.headings[0].ID] = part
		whole.headings = append(whole.headings, part.headings[0])
	}
	return whole
}

// read reads all documents. One that is in no group is an error.
func (s *site) read() error {
	listed := map[string]bool{}
	for _, g := range groups {
		for _, file := range g.Files {
			listed[file] = true
			text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file)))
			if err != nil {
				return err
			}
			p := parse(file, text)
			if p.Title == "" {
				return fmt.Errorf("%s has no title", file)
			}
			if slices.Contains(divided, file) {
				p = divide(p)
			}
			s.pages[file] = p
		}
	}
	s.pages[groups[0].Files[0]].URL = "index.html"
	all, err := filepath.Glob(filepath.Join(s.root, "docs", "*.md"))
	if err != nil {
		return err
	}
	for _, file := range all {
		if name := "docs/" + filepath.Base(file); !listed[name] {
			return fmt.Errorf("%s is in none of the groups", name)
		}
	}
	return nil
}

func parse(file string, content []byte) *page {
	p := &page{file: file, source: content, URL: strings.ToLower(strings.TrimSuffix(path.Base(file), ".md")) + ".html"}
	p.tree = markdown.Parser().Parse(text.NewReader(content))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			p.headings = append(p.headings, heading{h.Level, string(name), plain(h, content)})
			if h.Level == 1 && p.Title == "" {
				p.Title = plain(h, content)
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// plain returns the text of a node without its markup.
func plain(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(content))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(content))
				}
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// contents are the headings that the page lists.
func (p *page) contents() []heading {
	if p.parts != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.headings), func(h heading) bool { return h.Level != 2 && h.Level != 3 || h.Level == 3 && len(p.headings) > 40 })
}

// link gives the links and pictures of a page their places in the site, or in the project.
func (s *site) link(p *page) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if to := s.pages[path.Join(path.Dir(p.file), string(n.Destination))]; to != nil && strings.HasSuffix(plain(n, p.source), ".md") {
				// Where there are files, a link has the name of one.
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(to.Title)))
			}
			n.Destination = []byte(s.place(p, string(n.Destination), false))
		case *ast.Image:
			n.Destination = []byte(s.place(p, string(n.Destination), true))
		}
		return ast.WalkContinue, nil
	})
}

func (s *site) place(p *page, link string, shown bool) string {
	u, err := url.Parse(link)
	if err != nil || u.IsAbs() {
		return link
	}
	file := p.file
	if u.Path != "" {
		file = path.Join(path.Dir(p.file), u.Path)
	}
	if to := s.pages[file]; to != nil && !shown {
		if part := to.parts[u.Fragment]; part != nil {
			return part.URL
		}
		if u.Fragment != "" && !slices.ContainsFunc(to.headings, func(h heading) bool { return h.ID == u.Fragment }) {
			s.problems = append(s.problems, fmt.Errorf("%s: %s has no heading #%s", p.file, to.file, u.Fragment))
		}
		if u.Path == "" {
			return link
		}
		return (&url.URL{Path: to.URL, Fragment: u.Fragment}).String()
	}
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(file))); err != nil {
		s.problems = append(s.problems, fmt.Errorf("%s: there is no %s", p.file, link))
	}
	if shown {
		s.files[file] = true
		return path.Base(file)
	}
	if u.Fragment != "" {
		file += "#" + u.Fragment
	}
	return source + file
}

// maxText bounds the text that the search has of a section.
const maxText = 600

// sections returns the sections that the search finds.
func (s *site) sections() (list []section) {
	for _, p := range s.all() {
		at := section{Page: p.Title, Title: p.Title, URL: p.URL}
		end := func() {
			if len(at.Text) > maxText {
				at.Text = strings.ToValidUTF8(at.Text[:maxText], "")
			}
			list = append(list, at)
		}
		for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
			if h, ok := n.(*ast.Heading); ok {
				if h.Level > 1 {
					end()
					id, _ := h.AttributeString("id")
					name, _ := id.([]byte)
					at = section{Page: p.Title, Title: plain(h, p.source), URL: p.URL + "#" + string(name)}
				}
				continue
			}
			if len(at.Text) <= maxText {
				at.Text = strings.TrimSpace(at.Text + " " + plain(n, p.source))
			}
		}
		end()
	}
	return list
}

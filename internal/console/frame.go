package console

import "github.com/husk-dev/husk/internal/display"

// write writes the frame of a page, and its sections.
func (p *page) write(m *markup) {
	title := display.Escape(p.Title)
	if p.Project != "" {
		title += " · " + display.Escape(p.Project)
	}
	m.f(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · husk</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/style.css">
<script src="/assets/script.js" defer></script>
</head>
`, title)
	if p.Path == "" {
		m.f("<body>\n")
	} else {
		m.f(`<body data-page="%s">`+"\n", p.Path)
	}
	m.f(`<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand"><a href="/"><span aria-hidden="true">◧</span> husk</a>`)
	if p.Project != "" {
		m.f(` <span class="faint">/</span> <a href="/">%s</a>`, display.Escape(p.Project))
	}
	if p.Stack != "" {
		m.f(` <span class="faint">/</span> <a href="%s">%s</a>`, stackPath(p.Stack), p.Stack)
	}
	mode := raw(`<span class="badge">read-only</span>`)
	if p.MayDeploy {
		mode = `<span class="badge warn">writes allowed</span>`
	}
	m.f("</p>\n"+`<p class="mode">%s <span id="live" class="badge" role="status">not live</span></p>`+"\n</header>\n", mode)
	type tab struct{ name, title, path string }
	nav := func(label string, tabs ...tab) {
		m.f(`<nav aria-label="%s">`+"\n", label)
		for _, tab := range tabs {
			m.f(`<a href="%s"%s>%s</a>`+"\n", tab.path, when(tab.name == p.Tab, ` aria-current="page"`), tab.title)
		}
		m.f("</nav>\n")
	}
	switch {
	case p.Stack != "":
		nav("Stack", []tab{
			{"resources", "Resources", stackPath(p.Stack)}, {"graph", "Graph", stackPath(p.Stack, "graph")},
			{"runs", "Runs", stackPath(p.Stack, "runs")}, {"providers", "Providers", stackPath(p.Stack, "providers")},
		}...)
	case p.HasServer:
		nav("Project", tab{"stacks", "Stacks", "/"}, tab{"server", "Server", "/server"})
	}
	m.f(`<main id="main" tabindex="-1">`+"\n<h1>%s</h1>\n", display.Escape(p.Title))
	for _, s := range p.Sections {
		s.write(m)
	}
	m.f("</main>\n"+`<footer class="faint">husk %s</footer>`+"\n</body>\n</html>\n", p.Version)
}

func (s *section) write(m *markup) {
	m.f(`<%s id="%s"`, s.Tag, s.ID)
	switch {
	case s.Tag == "ul":
		m.f(` class="cards"`)
	case s.Wide:
		m.f(` class="wide" tabindex="0"`)
	}
	if s.Label != "" {
		m.f(` aria-label="%s"`, s.Label)
	}
	m.f(">")
	for _, part := range s.Parts {
		m.f("%s", part.HTML)
	}
	m.f("</%s>\n", s.Tag)
}

package timeline

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/display"
)

// WriteHTML writes a page with the chart, and tables that say the same for keyboards and screen readers. The page
// refers to no other file and has no script.
func (t *Timeline) WriteHTML(w io.Writer) error {
	var b strings.Builder
	title := escape(t.Title())
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
%s%s</style>
</head>
<body class="husk-page">
<header><h1>%s</h1><p>%s. Began at %s.</p></header>
<main>
`, title, Stylesheet, pageStylesheet, title, escape(capital(t.summary())), t.Start.Format("2006-01-02 15:04:05 MST"))
	b.WriteString(`<section class="chart" tabindex="0" role="region" aria-label="Chart">` + "\n")
	if err := t.WriteSVG(&b, SVGOptions{Embedded: true}); err != nil {
		return err
	}
	b.WriteString(legend + "</section>\n")
	t.writeSteps(&b)
	t.writeProviders(&b)
	b.WriteString("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const legend = `<p class="legend"><span class="create">created</span> <span class="update">updated</span> <span class="delete">deleted or failed</span>
<span class="read">read or compared</span> <span class="action">action</span> <span class="prepare">preparation of a provider</span>.
Outlined bars are the critical path: the run is not shorter unless one of them is. A line comes from what a bar waited for last.</p>
`

func (t *Timeline) writeSteps(b *strings.Builder) {
	rows := t.longest()
	number := make(map[int]int, len(rows))
	for k, i := range rows {
		number[i] = k + 1
	}
	b.WriteString(`<section class="table" tabindex="0" role="region" aria-label="Steps"><table>
<caption>Steps, in the order of their beginnings</caption>
<thead><tr><th scope="col">#</th><th scope="col">Resource</th><th scope="col">Result</th><th scope="col">Start</th><th scope="col">Took</th><th scope="col">Provider</th><th scope="col">In it</th><th scope="col">Calls</th><th scope="col">Waited for</th></tr></thead>
<tbody>
`)
	for _, i := range rows {
		bar := t.Bars[i]
		result := bar.Did
		if bar.Running {
			result += " (running)"
		}
		if bar.Error != "" {
			first, _, _ := strings.Cut(bar.Error, "\n")
			result += ": " + first
		}
		waited := ""
		if bar.WaitedFor >= 0 {
			waited = t.Bars[bar.WaitedFor].Subject
			if n := number[bar.WaitedFor]; n > 0 {
				waited = fmt.Sprintf("%d %s", n, waited)
			}
		}
		critical, inProvider, calls := "", "", ""
		if bar.Critical {
			critical = ` <span class="mark">critical</span>`
		}
		if bar.Calls > 0 {
			inProvider, calls = display.Brief(bar.InProvider), fmt.Sprint(bar.Calls)
		}
		fmt.Fprintf(b, `<tr class="%s"><td class="n">%d</td><th scope="row" title="%s">%s%s</th><td>%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td></tr>`+"\n",
			bar.Kind, number[i], escape(string(bar.URN)), escape(bar.Subject), critical, escape(result), display.Brief(bar.Start),
			display.Brief(bar.End-bar.Start), escape(bar.Provider), inProvider, calls, escape(waited))
	}
	b.WriteString("</tbody></table></section>\n")
}

func (t *Timeline) writeProviders(b *strings.Builder) {
	if len(t.Providers) == 0 {
		return
	}
	b.WriteString(`<section class="table" tabindex="0" role="region" aria-label="Provider calls"><table>
<caption>Provider calls, whose times may overlap</caption>
<thead><tr><th scope="col">Provider</th><th scope="col">Method</th><th scope="col">Calls</th><th scope="col">By schema</th><th scope="col">Failed</th><th scope="col">Time</th><th scope="col">Longest</th><th scope="col">Fuel</th><th scope="col">Sent</th><th scope="col">Received</th></tr></thead>
<tbody>
`)
	for _, p := range t.Providers {
		for _, m := range p.Methods {
			fmt.Fprintf(b, `<tr><th scope="row">%s</th><td>%s</td>`, escape(display.ProviderName(p)), escape(m.Method))
			for _, cell := range []string{
				fmt.Sprint(m.Calls), fmt.Sprint(m.BySchema), fmt.Sprint(m.Failures), display.Brief(micros(m.Microseconds)), display.Brief(micros(m.LongestMicroseconds)),
				display.Amount(m.Fuel, ""), display.Amount(m.BytesIn, "B"), display.Amount(m.BytesOut, "B"),
			} {
				fmt.Fprintf(b, `<td class="n">%s</td>`, escape(cell))
			}
			b.WriteString("</tr>\n")
		}
	}
	b.WriteString("</tbody></table></section>\n")
}

const pageStylesheet = `body{margin:0;background:var(--ground);color:var(--ink);font-size:14px;line-height:1.45}
header{padding:1rem 1.25rem 0}h1{font-size:1.25rem;margin:0}header p,.legend{color:var(--soft);margin:.25rem 0 .75rem}
main{display:grid;gap:1rem;padding:0 1.25rem 1.25rem;grid-template-columns:minmax(0,1fr)}
@media (min-width:1700px){main{grid-template-columns:minmax(0,3fr) minmax(0,2fr)}}
section{overflow:auto;border:1px solid var(--line);border-radius:6px;max-height:92vh}
section:focus-visible{outline:3px solid var(--read);outline-offset:2px}
.chart svg{display:block;min-width:62rem;width:100%}
.legend{padding:0 .9rem;font-size:13px}
.legend span::before{content:"";display:inline-block;width:.8em;height:.8em;margin:0 .35em 0 .6em;border-radius:2px;background:var(--prepare)}
.legend .create::before{background:var(--create)}.legend .update::before{background:var(--update)}.legend .delete::before{background:var(--delete)}
.legend .read::before{background:var(--read)}.legend .action::before{background:var(--action)}
table{border-collapse:collapse;width:100%;font-size:13px}
caption{text-align:left;font-weight:600;padding:.6rem .9rem}
th,td{text-align:left;font-weight:400;padding:.25rem .6rem;border-top:1px solid var(--line);white-space:nowrap}
thead th{position:sticky;top:0;background:var(--ground);color:var(--soft);font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums}
.mark{border:1px solid var(--soft);border-radius:3px;padding:0 .3em;font-size:11px}
`

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Write writes the timeline in the format that a file's name asks for: .svg, .html, or .htm.
func (t *Timeline) Write(w io.Writer, file string) error {
	if strings.EqualFold(filepath.Ext(file), ".svg") {
		return t.WriteSVG(w, SVGOptions{})
	}
	return t.WriteHTML(w)
}

// CheckName returns an error if the name of a file does not say in which format it is to be.
func CheckName(file string) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".svg", ".html", ".htm":
		return nil
	}
	return fmt.Errorf("%s: a timeline is a picture or a page: name the file .svg or .html", file)
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

package console

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/display"
)

// raw is text that is HTML already.
type raw string

// markup is HTML that is being written. It stands in for html/template, whose use of reflection would keep every
// method of every type in the program: 2.8 MB of husk.
type markup struct{ strings.Builder }

// f writes a format, which is HTML, with its arguments escaped, also for attributes in double quotes. Those that are raw
// stay as they are.
func (m *markup) f(format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.(raw); ok {
			args[i] = string(text)
		} else {
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(m, format, args...)
}

// made returns the markup that a function writes.
func made(write func(*markup)) raw {
	var m markup
	write(&m)
	return raw(m.String())
}

// when returns raw text if a condition holds, else none.
func when(is bool, text raw) raw {
	if is {
		return text
	}
	return ""
}

// resultState returns a word about a result, with its colour.
func resultState(word string) raw {
	return made(func(m *markup) { m.f(`<span class="state %s">%s</span>`, lookOf(word), word) })
}

// timed returns a moment for people and for programs.
func timed(t time.Time) raw {
	return made(func(m *markup) {
		m.f(`<time datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339), moment(t))
	})
}

// value writes a text of several lines.
func (m *markup) value(class, text string) {
	m.f(`<pre class="%s">%s</pre>`, class, display.EscapeLines(text))
}

// stackPath returns the path of a page of a stack.
func stackPath(stack string, more ...string) string {
	path := "/stack/" + url.PathEscape(stack)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// resourcePath returns the path of the page of a resource.
func resourcePath(stack, urn string) string {
	return stackPath(stack, "resource") + "?urn=" + url.QueryEscape(urn)
}

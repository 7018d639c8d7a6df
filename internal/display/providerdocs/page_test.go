package providerdocs_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/display/providerdocs"
	"github.com/husk-dev/husk/internal/display/providerdocs/page"
)

// A page has no script of an author, links only inside of itself, and each link leads to a heading.
func TestHTML(t *testing.T) {
	for name, p := range providerdocs.Packages(t) {
		made, err := page.Of(providerdocs.Title(p), []byte(providerdocs.Markdown(p, nil)))
		require.NoError(t, err)
		text := string(made)
		require.NotContains(t, text, "<script", name)
		ids := map[string]bool{}
		for _, found := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.False(t, ids[found[1]], "%s: the anchor %s is there twice", name, found[1])
			ids[found[1]] = true
		}
		for _, found := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.True(t, ids[found[1]], "%s: there is no heading %s", name, found[1])
		}
		require.NotRegexp(t, `(src=|<link)`, text)
	}
}

// A page of a stranger's schema runs nothing, and tells no server that somebody reads it.
func TestPagesOfStrangers(t *testing.T) {
	made, err := page.Of("</title><script>x()</script>", []byte("![a](https://tracker.example/a.png) <img src=https://tracker.example/b.png> <script>x()</script> [a](javascript:x()) [b](data:text/html,x)\n"))
	require.NoError(t, err)
	text := string(made)
	for _, never := range []string{"<script", "javascript:", "data:", "b.png"} {
		require.NotContains(t, text, never)
	}
	require.Contains(t, text, `content="default-src 'none'; style-src 'unsafe-inline'"`)
}

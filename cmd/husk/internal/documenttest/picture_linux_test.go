package documenttest

import (
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

var draw = flag.Bool("draw", false, "draw the picture of the README anew")

// picture is what the README shows.
const picture = "../../../../docs/quickstart.svg"

// The README shows the quickstart as a terminal has it. Its steps run at once, so their order is not compared.
func TestPictureOfTheQuickstart(t *testing.T) {
	n := newNewcomer(t)
	n.copyQuickstart()
	n.types("husk preview -C examples/quickstart") // compiles the modules
	const command = "husk up -C examples/quickstart --skip-preview --yes"
	n.types("echo '$ " + command + "'; " + command + " --color=always")
	_, err := n.x.TTY.WriteString("\r\x1b[2K") // the mark of the end
	require.NoError(t, err)
	n.x.Await(t, func(screen string) bool { return !strings.Contains(screen, "--end") })
	drawn := n.x.Picture("husk up deploys the quickstart: twelve resources of three sandboxed providers")
	if *draw {
		require.NoError(t, os.WriteFile(picture, drawn, 0o644))
	}
	want, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Equal(t, pictured(string(want)), pictured(string(drawn)), "draw it anew: go test ./cmd/husk/internal/documenttest -run Picture -args -draw")
}

// copyQuickstart copies the quickstart, with its providers built.
func (n *newcomer) copyQuickstart() {
	n.t.Helper()
	examples := "../../../../examples"
	dir := filepath.Join(n.dir, "examples", "quickstart")
	require.NoError(n.t, os.MkdirAll(dir, 0o755))
	project, err := os.ReadFile(filepath.Join(examples, "quickstart", "Husk.yaml"))
	require.NoError(n.t, err)
	text := string(project)
	for _, name := range []string{"random", "tls", "local"} {
		module := filepath.Join(n.dir, name+".wasm")
		require.NoError(n.t, os.WriteFile(module, testmodule.Build(n.t, filepath.Join(examples, "providers", name)), 0o644))
		text = strings.Replace(text, "../providers/"+name+"\n", module+"\n", 1)
	}
	require.NoError(n.t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o644))
}

var (
	pictureText = regexp.MustCompile(`<text [^>]*>(.*)</text>`)
	differing   = regexp.MustCompile(`\(?\d+(\.\d+)?m?s\)?|^\| [0-9A-Za-z+/=]+$`)
)

// pictured returns the texts of a picture without times and the certificate, sorted.
func pictured(svg string) (texts []string) {
	for _, m := range pictureText.FindAllStringSubmatch(svg, -1) {
		if text := strings.TrimSpace(differing.ReplaceAllString(html.UnescapeString(m[1]), "")); text != "" {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return texts
}

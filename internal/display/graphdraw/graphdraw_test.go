package graphdraw

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// website is a graph with a cluster in a cluster, labels, a provider, and names that need escapes.
func website() *Graph {
	return &Graph{
		Title: `shop/"dev"`,
		Nodes: []Node{
			{ID: "name", Name: "name", Kind: "random:RandomPet", Note: "create", Look: LookAdded},
			{ID: "site", Name: "web", Kind: "site:Site"},
			{ID: "cert", Name: "tls", Kind: "site:Certificate", Parent: "site"},
			{ID: "key", Name: "key <1>", Kind: "tls:PrivateKey", Parent: "cert", Note: "update", Look: LookChanged},
			{ID: "self", Name: "self & signed", Kind: "tls:SelfSignedCert", Parent: "cert"},
			{ID: "page", Name: "index \\ \"x\"", Kind: "local:File", Parent: "site", Note: "delete", Look: LookRemoved},
			{ID: "east", Name: "east", Kind: "pulumi:providers:local"},
			{ID: "alone", Name: "alone", Kind: "random:RandomId"},
		},
		Edges: []Edge{
			{From: "self", To: "key", Label: "privateKeyPem"},
			{From: "page", To: "name", Label: "content, path"},
			{From: "page", To: "cert"},
			{From: "page", To: "east", Label: "provider", Dashed: true},
			{From: "page", To: "nowhere"}, // which a damaged state has
		},
	}
}

func TestFormats(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"website.dot": website().WriteDOT, "website.mmd": website().WriteMermaid,
		"website.svg": func(w io.Writer) error { return website().WriteSVG(w, SVGOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, write(&b))
			golden := filepath.Join("testdata", name)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

// Whatever the graph, boxes are apart or within each other as clusters are, and all is in the picture.
func TestBoxesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs().Draw(t, "graph")
		l := arrange(g)
		for i, a := range l.boxes {
			require.GreaterOrEqual(t, a.X, 0.0)
			require.GreaterOrEqual(t, a.Y, titleHeight)
			require.LessOrEqual(t, a.X+a.W, l.size.W)
			require.LessOrEqual(t, a.Y+a.H, l.size.H)
			if p := l.parent[i]; p >= 0 {
				require.True(t, contains(l.boxes[p], a), "%s is not in its cluster", g.Nodes[i].ID)
			}
			for k, b := range l.boxes[:i] {
				if !l.isWithin(i, k) && !l.isWithin(k, i) {
					require.False(t, overlap(a, b), "%s and %s overlap: %v %v", g.Nodes[i].ID, g.Nodes[k].ID, a, b)
				}
			}
		}
	})
}

// graphs returns graphs of up to 40 nodes: with clusters, circles, and references to nowhere.
func graphs() *rapid.Generator[*Graph] {
	return rapid.Custom(func(t *rapid.T) *Graph {
		n := rapid.IntRange(0, 40).Draw(t, "nodes")
		id := func(i int) string { return fmt.Sprintf("n%d", i) }
		g := &Graph{Title: rapid.String().Draw(t, "title")}
		for i := range n {
			node := Node{ID: id(i), Name: rapid.StringN(0, 60, 200).Draw(t, "name"), Kind: "lab:Thing"}
			if rapid.IntRange(0, 2).Draw(t, "nested") == 0 {
				node.Parent = id(rapid.IntRange(0, n).Draw(t, "parent"))
			}
			g.Nodes = append(g.Nodes, node)
		}
		for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
			g.Edges = append(g.Edges, Edge{From: id(rapid.IntRange(0, n).Draw(t, "from")), To: id(rapid.IntRange(0, n).Draw(t, "to"))})
		}
		return g
	})
}

func contains(a, b box) bool {
	return a.X <= b.X && a.Y <= b.Y && b.X+b.W <= a.X+a.W+0.01 && b.Y+b.H <= a.Y+a.H+0.01
}

func overlap(a, b box) bool {
	return a.X+0.01 < b.X+b.W && b.X+0.01 < a.X+a.W && a.Y+0.01 < b.Y+b.H && b.Y+0.01 < a.Y+a.H
}

// An SVG is well-formed and names each resource, whatever their names are, and has no script and no reference to
// other files.
func TestSVGIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs().Draw(t, "graph")
		g.Title += "\x00\x1b</text><script>"
		var b strings.Builder
		require.NoError(t, g.WriteSVG(&b, SVGOptions{}))
		boxes := 0
		for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			require.NotEqual(t, "script", element.Name.Local)
			for _, a := range element.Attr {
				require.NotContains(t, a.Name.Local, "href")
				if a.Name.Local == "data-id" {
					boxes++
				}
			}
		}
		require.Equal(t, len(g.Nodes), boxes)
	})
}

// Dependencies are to the left of what depends on them, also at the ends of a long chain.
func TestDependenciesAreToTheLeft(t *testing.T) {
	g := &Graph{}
	for i := range 30 {
		g.Nodes = append(g.Nodes, Node{ID: fmt.Sprint(i), Name: strings.Repeat("x", i)})
		for k := range i {
			if k%7 == i%7 || k == i-1 {
				g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i), To: fmt.Sprint(k)})
			}
		}
	}
	l := arrange(g)
	for e, link := range l.edges {
		from, to := l.boxes[link.from], l.boxes[link.to]
		require.Less(t, to.X+to.W, from.X)
		// No line passes behind a box.
		for i, b := range l.boxes {
			for k := 1; k < len(l.lines[e]); k++ {
				p, q := l.lines[e][k-1], l.lines[e][k]
				across := p.Y == q.Y && p.Y > b.Y && p.Y < b.Y+b.H && q.X < b.X+b.W && p.X > b.X
				require.False(t, across && i != link.from && i != link.to, "the line %d-%d passes behind %d", link.from, link.to, i)
			}
		}
	}
}

// A thousand resources make a picture of a usable form: not a strip that is one box wide or high.
func TestAThousandResources(t *testing.T) {
	for name, g := range map[string]*Graph{
		"alone":      thousand(func(i int) []int { return nil }),
		"one center": thousand(func(i int) []int { return []int{0} }),
		"a tree":     thousand(func(i int) []int { return []int{(i - 1) / 3} }),
		"a mesh":     thousand(func(i int) []int { return []int{i * 7 / 10, i / 2, i / 3} }),
	} {
		t.Run(name, func(t *testing.T) {
			l := arrange(g)
			require.Less(t, l.size.H, 12*l.size.W)
			require.Less(t, l.size.W, 12*l.size.H)
			require.Less(t, l.size.W*l.size.H, 1000*60_000.0)
		})
	}
}

func thousand(needs func(i int) []int) *Graph {
	g := &Graph{Title: "thousand"}
	for i := range 1000 {
		g.Nodes = append(g.Nodes, Node{ID: fmt.Sprint(i), Name: fmt.Sprintf("thing-%d", i), Kind: "lab:Thing"})
		if i == 0 {
			continue
		}
		for _, to := range needs(i) {
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i), To: fmt.Sprint(to)})
		}
	}
	return g
}

func BenchmarkSVGOfAThousand(b *testing.B) {
	g := thousand(func(i int) []int { return []int{i * 7 / 10, i / 2, i / 3} })
	for b.Loop() {
		require.NoError(b, g.WriteSVG(io.Discard, SVGOptions{}))
	}
}

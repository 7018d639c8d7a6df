// Package graphdraw draws graphs of resources: as DOT, as Mermaid, and as SVG with a layout of its own.
//
// Names are text of strangers: each format escapes them. Package stackgraph makes graphs of stacks and runs.
package graphdraw

// Graph has resources and their dependencies.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Node is a resource. One that is the Parent of others is drawn as a cluster around them.
type Node struct {
	// ID identifies the node within its graph.
	ID string
	// Name and Kind are the two lines of text in the box.
	Name, Kind string
	// Parent is the ID of the node whose cluster has this one, empty for none. A parent that the graph lacks
	// counts as none.
	Parent string
	// Note is a word about the node, such as "create". It is part of the second line.
	Note string
	// Look is the colour of the box. It repeats what Note says.
	Look Look
	// Details is the text that a pointer over the box shows, such as the URN.
	Details string
}

// Look is one of the colours of boxes.
type Look string

// The looks.
const (
	LookPlain   Look = ""
	LookAdded   Look = "added"
	LookChanged Look = "changed"
	LookRemoved Look = "removed"
	LookFaint   Look = "faint"
)

// Edge says that From depends on To. An edge is left out if the graph lacks one of its ends.
type Edge struct {
	From, To string
	// Label says why, such as the names of the properties.
	Label string
	// Dashed is for relations other than dependencies, such as to a provider.
	Dashed bool
}

// tree is a graph by clusters. The entries of its slices are indexes of Graph.Nodes.
type tree struct {
	*Graph
	// parent is the index of a node's cluster, -1 for none.
	parent []int
	// children are the members of each cluster. Those of the last one are the roots.
	children [][]int
	depth    []int
	edges    []link
}

// link is an edge between nodes by their indexes, without those within one line of ancestors.
type link struct {
	from, to int
	edge     *Edge
}

func newTree(g *Graph) *tree {
	n := len(g.Nodes)
	t := &tree{Graph: g, parent: make([]int, n), children: make([][]int, n+1), depth: make([]int, n)}
	index := make(map[string]int, n)
	for i, node := range g.Nodes {
		if _, ok := index[node.ID]; !ok {
			index[node.ID] = i
		}
	}
	for i, node := range g.Nodes {
		t.parent[i] = -1
		if p, ok := index[node.Parent]; ok && node.Parent != "" && p != i {
			t.parent[i] = p
		}
	}
	for i := range g.Nodes {
		if t.isCircular(i) {
			t.parent[i] = -1
		}
	}
	for i, p := range t.parent {
		if p < 0 {
			p = n
		}
		t.children[p] = append(t.children[p], i)
		for a := t.parent[i]; a >= 0; a = t.parent[a] {
			t.depth[i]++
		}
	}
	seen := make(map[[2]int]bool)
	for i := range g.Edges {
		e := &g.Edges[i]
		from, ok := index[e.From]
		to, ok2 := index[e.To]
		if !ok || !ok2 || t.isWithin(from, to) || t.isWithin(to, from) || seen[[2]int{from, to}] {
			continue
		}
		seen[[2]int{from, to}] = true
		t.edges = append(t.edges, link{from, to, e})
	}
	return t
}

// isCircular reports whether a node is among its own ancestors.
func (t *tree) isCircular(i int) bool {
	visited := map[int]bool{i: true}
	for a := t.parent[i]; a >= 0; a = t.parent[a] {
		if visited[a] {
			return a == i
		}
		visited[a] = true
	}
	return false
}

// isWithin reports whether a node is another one or in its cluster.
func (t *tree) isWithin(i, cluster int) bool {
	for ; i >= 0; i = t.parent[i] {
		if i == cluster {
			return true
		}
	}
	return false
}

// siblings returns the ancestors of two nodes, or the nodes themselves, that are in the same cluster, and that
// cluster. The root cluster is -1.
func (t *tree) siblings(a, b int) (of, ofOther, cluster int) {
	for t.depth[a] > t.depth[b] {
		a = t.parent[a]
	}
	for t.depth[b] > t.depth[a] {
		b = t.parent[b]
	}
	for t.parent[a] != t.parent[b] {
		a, b = t.parent[a], t.parent[b]
	}
	return a, b, t.parent[a]
}

func (t *tree) isCluster(i int) bool { return len(t.children[i]) > 0 }

package yamlprogram

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/internal/toposort"
	"github.com/husk-dev/husk/engine/program/expr"
)

// node is a resource or a variable: what has a name and takes its turn in a run.
type node struct {
	name     string
	resource *resource
	variable *variable
	// uses are the nodes that must be done before, distinct and in their order.
	uses []int
	// accesses are where the node names others, in the order of the file.
	accesses []*expr.Access
}

func (n *node) key() *yaml.Node {
	if n.variable != nil {
		return n.variable.key
	}
	return n.resource.key
}

func (n *node) expressions() []expr.Expr {
	if n.variable != nil {
		return []expr.Expr{n.variable.value}
	}
	r := n.resource
	all := []expr.Expr{r.properties}
	if r.nameExpr != nil {
		all = append(all, r.nameExpr)
	}
	if r.computed != nil {
		all = append(all, r.computed)
	}
	if r.get != nil {
		if r.get.id != nil {
			all = append(all, r.get.id)
		}
		all = append(all, r.get.state)
	}
	return append(all, r.options.expressions()...)
}

// calls returns the actions that run for a resource.
func (n *node) calls() []expr.Expr {
	if n.resource == nil {
		return nil
	}
	return n.resource.options.calls()
}

type graph struct {
	nodes  []*node
	byName map[string]int
	// order has every node after those that it uses; those of a cycle as in the file.
	order []int
}

// newGraph finds out what uses what, and reports what uses itself.
func newGraph(c *compilation) *graph {
	g := &graph{byName: map[string]int{}}
	for _, v := range c.variables {
		g.add(&node{name: v.name, variable: v})
	}
	for _, r := range c.resources {
		g.add(&node{name: r.name, resource: r})
	}
	for _, n := range g.nodes {
		use := func(a *expr.Access) {
			n.accesses = append(n.accesses, a)
			g.use(n, a.Name)
		}
		for _, x := range n.expressions() {
			expr.Accesses(x, use)
		}
		for _, x := range n.calls() {
			expr.Accesses(x, func(a *expr.Access) {
				if a.Name != n.name { // an action may use the resource that it runs for
					use(a)
				}
			})
		}
	}
	g.useDefaults(c)
	uses := func(i int) []int { return g.nodes[i].uses }
	g.order = toposort.Order(len(g.nodes), uses, func(numbers func() []int) { g.reportCycle(c, numbers()) })
	return g
}

func (g *graph) add(n *node) {
	g.byName[n.name] = len(g.nodes)
	g.nodes = append(g.nodes, n)
}

func (g *graph) use(n *node, name string) {
	if i, ok := g.byName[name]; ok && !slices.Contains(n.uses, i) {
		n.uses = append(n.uses, i)
	}
}

// usesOf returns the nodes that expressions name, for what is no node itself.
func (g *graph) usesOf(x expr.Expr) []int {
	n := &node{}
	expr.Accesses(x, func(a *expr.Access) { g.use(n, a.Name) })
	return n.uses
}

// useDefaults makes what a default provider serves wait for it, but for what it is made from.
func (g *graph) useDefaults(c *compilation) {
	for pkg, provider := range c.defaults {
		before := g.reach(g.byName[provider.name])
		for i, n := range g.nodes {
			if !before[i] && n.needsDefault(c, pkg) {
				g.use(n, provider.name)
			}
		}
	}
}

// needsDefault reports whether a node leaves the choice of a package's provider open.
func (n *node) needsDefault(c *compilation, pkg string) bool {
	if r := n.resource; r != nil && !r.isProvider() && c.served(r.pkg) == pkg && r.options.exprs["provider"] == nil {
		return true
	}
	needs := false
	for _, x := range slices.Concat(n.expressions(), n.calls()) {
		expr.Walk(x, func(x expr.Expr) {
			if call, ok := x.(*expr.Invoke); ok && call.Provider == nil {
				p, _ := packageOf(call.Token)
				needs = needs || c.served(p) == pkg
			}
		})
	}
	return needs
}

// reach returns a node and all that it uses, directly or not.
func (g *graph) reach(from int) map[int]bool {
	seen := map[int]bool{}
	pending := []int{from}
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !seen[i] {
			seen[i] = true
			pending = append(pending, g.nodes[i].uses...)
		}
	}
	return seen
}

func (g *graph) reportCycle(c *compilation, cycle []int) {
	names := make([]string, 0, len(cycle)+1)
	for _, i := range cycle {
		names = append(names, g.nodes[i].name)
	}
	names = append(names, names[0])
	first := g.nodes[cycle[0]]
	at := -1
	for i, a := range first.accesses {
		if a.Name == names[1] {
			at = i
			break
		}
	}
	if at < 0 { // through a default provider, which nothing names
		c.report.Errorf(first.key(), "cyclic reference: %s", strings.Join(names, " -> "))
		return
	}
	position := first.accesses[at].Position(c.report.File, 0)
	if len(cycle) == 1 {
		c.report.Add(c.report.File.Errorf(position, "%q refers to itself", names[0]))
		return
	}
	c.report.Add(c.report.File.Errorf(position, "cyclic reference: %s", strings.Join(names, " -> ")).
		With("none of these can be made before the others: take one of the references out"))
}

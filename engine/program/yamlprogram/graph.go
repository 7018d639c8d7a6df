package yamlprogram

import (
	"fmt"
	"maps"
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
	// uses are the nodes that must be done before, distinct and in their order, and used has them where there are many.
	uses []int
	used map[int]bool
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
	// order has every node after the nodes that it uses; nodes of a cycle come as in the file.
	order []int
}

// accessBytes is the memory of an access in a graph: many resources can have the same action, and so its accesses.
const accessBytes = 32

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
			if !c.report.Spend(n.key(), 1, accessBytes) {
				return
			}
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
	cycles := 0
	g.order = toposort.Order(len(g.nodes), uses, func(numbers func() []int) {
		if cycles++; cycles <= maxCycles { // each takes as long as it is
			g.reportCycle(c, numbers())
		}
	})
	return g
}

func (g *graph) add(n *node) {
	g.byName[n.name] = len(g.nodes)
	g.nodes = append(g.nodes, n)
}

func (g *graph) use(n *node, name string) {
	if i, ok := g.byName[name]; ok && !n.isUsing(i) {
		n.uses = append(n.uses, i)
		if n.used != nil {
			n.used[i] = true
		}
	}
}

// fewUses are as many as are searched faster than looked up.
const fewUses = 16

func (n *node) isUsing(i int) bool {
	if len(n.uses) <= fewUses {
		return slices.Contains(n.uses, i)
	}
	if n.used == nil {
		n.used = make(map[int]bool, 2*len(n.uses))
		for _, used := range n.uses {
			n.used[used] = true
		}
	}
	return n.used[i]
}

// usesOf returns the nodes that an expression outside of a node names.
func (g *graph) usesOf(x expr.Expr) []int {
	n := &node{}
	expr.Accesses(x, func(a *expr.Access) { g.use(n, a.Name) })
	return n.uses
}

// useDefaults makes the resources of a default provider wait for it, except the ones that it depends on.
func (g *graph) useDefaults(c *compilation) {
	if len(c.defaults) == 0 {
		return
	}
	users := map[string][]int{} // users that leave the choice of a package's provider open
	for i, n := range g.nodes {
		for _, pkg := range n.open(c) {
			users[pkg] = append(users[pkg], i)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(c.defaults)) {
		if len(users[pkg]) == 0 {
			continue
		}
		provider := c.defaults[pkg]
		before := g.reach(c, g.byName[provider.name])
		for _, i := range users[pkg] {
			if !before[i] {
				g.use(g.nodes[i], provider.name)
			}
		}
	}
}

// open returns the packages whose provider the node leaves open.
func (n *node) open(c *compilation) (pkgs []string) {
	need := func(pkg string) {
		if pkg = c.served(pkg); c.defaults[pkg] != nil && !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
	}
	if r := n.resource; r != nil && !r.isProvider() && r.options.exprs["provider"] == nil {
		need(r.pkg)
	}
	for _, x := range slices.Concat(n.expressions(), n.calls()) {
		expr.Walk(x, func(x expr.Expr) {
			if !c.report.Spend(n.key(), 1+len(pkgs), 0) {
				return
			}
			if call, ok := x.(*expr.Invoke); ok && call.Provider == nil {
				p, _ := packageOf(call.Token)
				need(p)
			}
		})
	}
	return pkgs
}

// reach returns a node and all that it uses, directly or not.
func (g *graph) reach(c *compilation, from int) map[int]bool {
	seen := map[int]bool{}
	pending := []int{from}
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !seen[i] && c.report.Spend(g.nodes[i].key(), 1, 0) {
			seen[i] = true
			pending = append(pending, g.nodes[i].uses...)
		}
	}
	return seen
}

// maxCycles bounds the cycles that are reported, and maxCycle the names of each.
const maxCycles, maxCycle = 100, 20

func (g *graph) reportCycle(c *compilation, cycle []int) {
	names := make([]string, 0, maxCycle+2)
	for at, i := range cycle {
		if at == maxCycle {
			names = append(names, fmt.Sprintf("(%d more)", len(cycle)-maxCycle))
			break
		}
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

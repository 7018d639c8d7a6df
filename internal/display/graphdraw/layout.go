package graphdraw

import (
	"cmp"
	"math"
	"slices"

	"github.com/husk-dev/husk/internal/base/sorted"
)

// layout has the place of each node, and the line of each edge.
type layout struct {
	*tree
	boxes []box
	lines [][]point // of each entry of tree.edges
	size  box
}

// The size of boxes, in pixels.
const (
	nodeHeight    = 42.0
	nodePadding   = 12.0
	leastWidth    = 90.0
	clusterBorder = 14.0
	clusterHead   = 40.0
	margin        = 20.0
	titleHeight   = 34.0
)

// arrange lays a graph out: each cluster by itself, the innermost first.
func arrange(g *Graph) *layout {
	l := &layout{tree: newTree(g)}
	l.boxes = make([]box, len(g.Nodes))
	l.lines = make([][]point, len(l.edges))
	root := len(g.Nodes)

	// Within a cluster, an edge counts for the members that its ends are or are in.
	needs := make(map[int]map[int][]int) // by cluster, and by member
	lifted := make([][2]int, len(l.edges))
	byCluster := make(map[int][]int)
	for e, link := range l.edges {
		a, b, cluster := l.siblings(link.from, link.to)
		if cluster < 0 {
			cluster = root
		}
		lifted[e] = [2]int{a, b}
		byCluster[cluster] = append(byCluster[cluster], e)
		if needs[cluster] == nil {
			needs[cluster] = make(map[int][]int)
		}
		if !slices.Contains(needs[cluster][a], b) {
			needs[cluster][a] = append(needs[cluster][a], b)
		}
	}

	routes := make([][]point, len(l.edges)) // relative to the cluster
	clusters := []int{root}
	for k := 0; k < len(clusters); k++ {
		for _, child := range l.children[clusters[k]] {
			if l.isCluster(child) {
				clusters = append(clusters, child)
			}
		}
	}
	for _, cluster := range slices.Backward(clusters) {
		for _, child := range l.children[cluster] {
			if !l.isCluster(child) {
				l.boxes[child] = box{W: nodeWidth(g.Nodes[child]), H: nodeHeight}
			}
		}
		size := l.arrangeCluster(l.children[cluster], needs[cluster], byCluster[cluster], lifted, routes)
		if cluster == root {
			l.size = size
			continue
		}
		l.boxes[cluster] = box{
			W: max(size.W+2*clusterBorder, nodeWidth(g.Nodes[cluster])), H: size.H + clusterHead + clusterBorder,
		}
	}

	// From relative to absolute, the outermost first.
	origin := func(cluster int) point {
		if cluster == root {
			return point{margin, margin + titleHeight}
		}
		return point{l.boxes[cluster].X + clusterBorder, l.boxes[cluster].Y + clusterHead}
	}
	for _, cluster := range clusters {
		o := origin(cluster)
		for _, child := range l.children[cluster] {
			l.boxes[child].X += o.X
			l.boxes[child].Y += o.Y
		}
		for _, e := range byCluster[cluster] {
			for k := range routes[e] {
				routes[e][k].X += o.X
				routes[e][k].Y += o.Y
			}
		}
	}
	for e, link := range l.edges {
		l.lines[e] = l.line(l.boxes[link.from], l.boxes[link.to], routes[e])
	}
	l.size.W = max(l.size.W, textWidth(g.Title, titleSize)) + 2*margin
	l.size.H += 2*margin + titleHeight
	return l
}

// line returns the points of a line between two boxes, with the corners between them.
func (l *layout) line(from, to box, corners []point) []point {
	start, end := point{from.X, from.Y + from.H/2}, point{to.X + to.W, to.Y + to.H/2}
	if start.X < end.X && len(corners) == 0 { // it closes a circle, or leads from below to above
		start.X, end.X = from.X+from.W, to.X
		if start.X > end.X { // one is above the other
			start, end = point{from.X + from.W/2, from.Y}, point{to.X + to.W/2, to.Y + to.H}
			if from.Y < to.Y {
				start.Y, end.Y = from.Y+from.H, to.Y
			}
		}
	}
	return append(append([]point{start}, corners...), end)
}

// arrangeCluster places the members of a cluster: connected ones in layers, the others in a grid.
func (l *layout) arrangeCluster(members []int, needs map[int][]int, edges []int, lifted [][2]int, routes [][]point) box {
	var blocks []block
	var alone []int
	partOf := make(map[int]int)
	for _, part := range connected(members, needs) {
		if len(part) == 1 {
			alone = append(alone, part[0])
			continue
		}
		for _, m := range part {
			partOf[m] = len(blocks)
		}
		blocks = append(blocks, l.arrangePart(part, needs))
	}
	for _, e := range edges {
		b := &blocks[partOf[lifted[e][0]]]
		b.edges = append(b.edges, e)
		routes[e] = b.layers.route(b.index[lifted[e][0]], b.index[lifted[e][1]], b.columns)
	}
	area := 0.0
	for _, b := range blocks {
		area += (b.size.W + blockGap) * (b.size.H + blockGap)
	}
	for _, m := range alone {
		area += (l.boxes[m].W + boxGap) * (l.boxes[m].H + boxGap)
	}
	width := math.Sqrt(area * aspect)
	for _, b := range blocks {
		width = max(width, b.size.W)
	}
	if len(alone) > 0 {
		blocks = append(blocks, l.grid(alone, width))
	}
	return l.shelve(blocks, width, routes)
}

// block is a part of a cluster whose members have places within it.
type block struct {
	members []int
	size    box
	edges   []int
	// Of a part in layers:
	layers  *layered
	columns []box
	index   map[int]int // of a member within the layers
}

// arrangePart places connected members in layers.
func (l *layout) arrangePart(members []int, needs map[int][]int) block {
	b := block{members: members, index: make(map[int]int, len(members))}
	sizes, local := make([]box, len(members)), make([][]int, len(members))
	for k, m := range members {
		b.index[m], sizes[k] = k, l.boxes[m]
	}
	for k, m := range members {
		for _, to := range needs[m] {
			local[k] = append(local[k], b.index[to])
		}
	}
	b.layers = layOut(sizes, local)
	boxes, size, columns := b.layers.place()
	b.size, b.columns = size, columns
	for k, m := range members {
		l.boxes[m] = boxes[k]
	}
	return b
}

// grid places members in rows, in columns of one width where they are of one height.
func (l *layout) grid(members []int, width float64) block {
	b := block{members: members}
	// Clusters come last: they are higher.
	slices.SortStableFunc(members, func(a, c int) int { return cmp.Compare(l.boxes[a].H, l.boxes[c].H) })
	x, y, height, column := 0.0, 0.0, 0.0, 0.0
	for _, m := range members {
		if !l.isCluster(m) {
			column = max(column, l.boxes[m].W)
		}
	}
	for _, m := range members {
		w := l.boxes[m].W
		if !l.isCluster(m) {
			w = column
		}
		if x > 0 && (x+w > width || height > 0 && l.boxes[m].H > 2*height) {
			x, y, height = 0, y+height+boxGap, 0
		}
		l.boxes[m].X, l.boxes[m].Y = x, y
		height = max(height, l.boxes[m].H)
		b.size.W, b.size.H = max(b.size.W, x+w), y+height
		x += w + boxGap
	}
	return b
}

// shelve places blocks side by side and below each other, the highest first, and returns the size of the whole.
func (l *layout) shelve(blocks []block, width float64, routes [][]point) box {
	sorted.By(blocks, func(a, b block) int { return cmp.Compare(b.size.H, a.size.H) })
	var whole box
	x, y, height := 0.0, 0.0, 0.0
	for _, b := range blocks {
		if x > 0 && x+b.size.W > width {
			x, y, height = 0, y+height+blockGap, 0
		}
		for _, m := range b.members {
			l.boxes[m].X += x
			l.boxes[m].Y += y
		}
		for _, e := range b.edges {
			for k := range routes[e] {
				routes[e][k].X += x
				routes[e][k].Y += y
			}
		}
		height = max(height, b.size.H)
		whole.W, whole.H = max(whole.W, x+b.size.W), y+height
		x += b.size.W + blockGap
	}
	return whole
}

// connected returns the members in parts that edges connect.
func connected(members []int, needs map[int][]int) [][]int {
	neighbours := make(map[int][]int)
	for from, tos := range needs {
		for _, to := range tos {
			neighbours[from] = append(neighbours[from], to)
			neighbours[to] = append(neighbours[to], from)
		}
	}
	seen := make(map[int]bool)
	var out [][]int
	for _, m := range members {
		if seen[m] {
			continue
		}
		seen[m] = true
		part := []int{m}
		for k := 0; k < len(part); k++ {
			for _, n := range neighbours[part[k]] {
				if !seen[n] {
					seen[n] = true
					part = append(part, n)
				}
			}
		}
		slices.Sort(part) // in the order of the graph
		out = append(out, part)
	}
	return out
}

package graphdraw

import (
	"math"
	"slices"
)

// box is a rectangle. Within a layout, X and Y are relative to the cluster.
type box struct{ X, Y, W, H float64 }

type point struct{ X, Y float64 }

// The distances in a layout, in pixels.
const (
	boxGap     = 14.0 // between boxes of a layer
	lineGap    = 7.0  // between lines that pass a layer
	layerGap   = 56.0 // between layers
	blockGap   = 26.0 // between parts that no edge connects
	sweeps     = 8    // over the layers, to order and to align them
	maxCorners = 60_000
	aspect     = 1.6 // width to height of the whole
)

// layered is a layout of connected boxes: in layers from left to right, each box right of its dependencies.
type layered struct {
	sizes []box
	// needs are the edges from each box to its dependencies, without circles.
	needs [][]int
	// back are the edges that would close a circle.
	layer []int
	// cells are the boxes, and after them the corners of lines that pass a layer.
	cells  []cell
	layers [][]int
	// corners is the corner of the lines to a box in a layer.
	corners map[[2]int]int
	routed  bool
}

type cell struct {
	layer       int
	w, h        float64
	y           float64 // of the middle
	left, right []int   // neighbours in the layers beside
}

func layOut(sizes []box, needs [][]int) *layered {
	l := &layered{sizes: sizes, needs: withoutCircles(needs)}
	l.assign()
	l.split()
	l.fill()
	l.order()
	l.align()
	return l
}

// withoutCircles returns edges without the ones that close a circle.
func withoutCircles(needs [][]int) [][]int {
	out := make([][]int, len(needs))
	const (
		open = 1
		done = 2
	)
	state := make([]int, len(needs))
	type frame struct{ node, next int }
	for start := range needs {
		if state[start] != 0 {
			continue
		}
		stack := []frame{{start, 0}}
		state[start] = open
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == len(needs[f.node]) {
				state[f.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := needs[f.node][f.next]
			f.next++
			if state[to] == open {
				continue
			}
			out[f.node] = append(out[f.node], to)
			if state[to] == 0 {
				state[to] = open
				stack = append(stack, frame{to, 0})
			}
		}
	}
	return out
}

// assign gives each box the first layer after its dependencies' layers. A box that depends on nothing is just before the first
// one that depends on it.
func (l *layered) assign() {
	n := len(l.sizes)
	l.layer = make([]int, n)
	users := make([][]int, n)
	waiting := make([]int, n)
	var ready []int
	for i, needs := range l.needs {
		waiting[i] = len(needs)
		if len(needs) == 0 {
			ready = append(ready, i)
		}
		for _, to := range needs {
			users[to] = append(users[to], i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, user := range users[i] {
			l.layer[user] = max(l.layer[user], l.layer[i]+1)
			if waiting[user]--; waiting[user] == 0 {
				ready = append(ready, user)
			}
		}
	}
	for i, needs := range l.needs {
		if len(needs) == 0 && len(users[i]) > 0 {
			first := math.MaxInt
			for _, user := range users[i] {
				first = min(first, l.layer[user])
			}
			l.layer[i] = first - 1
		}
	}
}

// split spreads a layer with very many boxes over several, so that the whole is not much higher than wide.
func (l *layered) split() {
	most := max(14, int(math.Sqrt(float64(len(l.sizes)))*aspect))
	byLayer := l.byLayer()
	shift := 0
	for at, members := range byLayer {
		for k, i := range members {
			l.layer[i] = at + shift + k/most
		}
		shift += (max(len(members), 1) - 1) / most
	}
}

// byLayer returns the boxes of each layer, those with the same first need together.
func (l *layered) byLayer() [][]int {
	out := make([][]int, slices.Max(l.layer)+1)
	for i, at := range l.layer {
		out[at] = append(out[at], i)
	}
	for _, members := range out {
		slices.SortStableFunc(members, func(a, b int) int { return l.firstNeed(a) - l.firstNeed(b) })
	}
	return out
}

func (l *layered) firstNeed(i int) int {
	if len(l.needs[i]) == 0 {
		return -1
	}
	return slices.Min(l.needs[i])
}

// fill makes the cells. Lines to the same box share their corners.
func (l *layered) fill() {
	l.cells = make([]cell, len(l.sizes))
	for i, size := range l.sizes {
		l.cells[i] = cell{layer: l.layer[i], w: size.W, h: size.H}
	}
	l.corners = make(map[[2]int]int)
	reach := make([]int, len(l.sizes)) // the last layer from which a line comes to the box
	total := 0
	for i, needs := range l.needs {
		for _, to := range needs {
			reach[to] = max(reach[to], l.layer[i])
		}
	}
	for i := range reach {
		total += max(0, reach[i]-l.layer[i]-1)
	}
	l.routed = total <= maxCorners
	connect := func(left, right int) {
		if !slices.Contains(l.cells[right].left, left) {
			l.cells[right].left = append(l.cells[right].left, left)
			l.cells[left].right = append(l.cells[left].right, right)
		}
	}
	for i, needs := range l.needs {
		for _, to := range needs {
			last := to
			for at := l.layer[to] + 1; l.routed && at < l.layer[i]; at++ {
				corner, ok := l.corners[[2]int{to, at}]
				if !ok {
					corner = len(l.cells)
					l.corners[[2]int{to, at}] = corner
					l.cells = append(l.cells, cell{layer: at})
				}
				connect(last, corner)
				last = corner
			}
			connect(last, i)
		}
	}
	l.layers = make([][]int, slices.Max(l.layer)+1)
	for i, c := range l.cells {
		l.layers[c.layer] = append(l.layers[c.layer], i)
	}
}

// order sorts each layer by the places of the neighbours, to and fro, so that few lines cross.
func (l *layered) order() {
	place := make([]float64, len(l.cells))
	number := func(layer []int) {
		for k, i := range layer {
			place[i] = float64(k) - float64(len(layer))/2
		}
	}
	for _, layer := range l.layers {
		number(layer)
	}
	middle := make([]float64, len(l.cells))
	sort := func(layer []int, neighbours func(cell) []int) {
		for _, i := range layer {
			middle[i] = mean(neighbours(l.cells[i]), place, place[i])
		}
		slices.SortStableFunc(layer, func(a, b int) int { return sign(middle[a] - middle[b]) })
		number(layer)
	}
	for range sweeps {
		for at := 1; at < len(l.layers); at++ {
			sort(l.layers[at], func(c cell) []int { return c.left })
		}
		for at := len(l.layers) - 2; at >= 0; at-- {
			sort(l.layers[at], func(c cell) []int { return c.right })
		}
	}
}

// align moves the cells of each layer towards the height of their neighbours, in the order that they have.
func (l *layered) align() {
	y := make([]float64, len(l.cells))
	for _, layer := range l.layers {
		l.spread(layer, y, func(i int) float64 { return 0 })
	}
	for sweep := range sweeps {
		both := sweep >= sweeps/2
		for at := 1; at < len(l.layers); at++ {
			l.spread(l.layers[at], y, func(i int) float64 {
				c := l.cells[i]
				if both {
					return mean(slices.Concat(c.left, c.right), y, y[i])
				}
				return mean(c.left, y, y[i])
			})
		}
		for at := len(l.layers) - 2; at >= 0; at-- {
			l.spread(l.layers[at], y, func(i int) float64 {
				c := l.cells[i]
				if both {
					return mean(slices.Concat(c.left, c.right), y, y[i])
				}
				return mean(c.right, y, y[i])
			})
		}
	}
	for i := range l.cells {
		l.cells[i].y = y[i]
	}
}

// spread places the cells of a layer as near to where they should be as their order and distances allow:
// an isotonic regression, by merging neighbours that would overlap.
func (l *layered) spread(layer []int, y []float64, wanted func(int) float64) {
	type block struct {
		sum   float64
		count int
	}
	offsets := make([]float64, len(layer)) // of the middle of each cell, with all as near as they may be
	for k := 1; k < len(layer); k++ {
		a, b := l.cells[layer[k-1]], l.cells[layer[k]]
		gap := boxGap
		if a.h == 0 || b.h == 0 {
			gap = lineGap
		}
		offsets[k] = offsets[k-1] + a.h/2 + b.h/2 + gap
	}
	var blocks []block
	for k, i := range layer {
		blocks = append(blocks, block{wanted(i) - offsets[k], 1})
		for len(blocks) > 1 {
			last, before := blocks[len(blocks)-1], blocks[len(blocks)-2]
			if before.sum/float64(before.count) < last.sum/float64(last.count) {
				break
			}
			blocks = append(blocks[:len(blocks)-2], block{before.sum + last.sum, before.count + last.count})
		}
	}
	k := 0
	for _, b := range blocks {
		for range b.count {
			y[layer[k]] = b.sum/float64(b.count) + offsets[k]
			k++
		}
	}
}

// place returns the rectangles of the boxes, the size of the whole, and the columns of the layers.
func (l *layered) place() (boxes []box, whole box, columns []box) {
	top, bottom := math.Inf(1), math.Inf(-1)
	columns = make([]box, len(l.layers))
	for _, c := range l.cells {
		top, bottom = min(top, c.y-c.h/2), max(bottom, c.y+c.h/2)
		columns[c.layer].W = max(columns[c.layer].W, c.w)
	}
	x := 0.0
	for at := range columns {
		columns[at].X = x
		x += columns[at].W + layerGap
	}
	for i := range l.cells {
		l.cells[i].y -= top
	}
	boxes = make([]box, len(l.sizes))
	for i := range boxes {
		c := l.cells[i]
		boxes[i] = box{X: columns[c.layer].X + (columns[c.layer].W-c.w)/2, Y: c.y - c.h/2, W: c.w, H: c.h}
	}
	return boxes, box{W: x - layerGap, H: bottom - top}, columns
}

// route returns the points between two boxes at which the line changes its height, from the right to the left.
func (l *layered) route(from, to int, columns []box) []point {
	var out []point
	for at := l.layer[from] - 1; at > l.layer[to]; at-- {
		if corner, ok := l.corners[[2]int{to, at}]; ok {
			y := l.cells[corner].y
			out = append(out, point{columns[at].X + columns[at].W, y}, point{columns[at].X, y})
		}
	}
	return out
}

// mean returns the mean of the values of some cells, or the alternative if there are none.
func mean(of []int, values []float64, alternative float64) float64 {
	if len(of) == 0 {
		return alternative
	}
	sum := 0.0
	for _, i := range of {
		sum += values[i]
	}
	return sum / float64(len(of))
}

func sign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

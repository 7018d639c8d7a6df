// Package eventual has values that exist only once the children of a component are made. Package guest
// wraps them in types, and package shape reads and writes them in structs.
package eventual

import "github.com/husk-dev/husk/abi/property"

// Cell is a value that exists or will. A nil Cell is null. Cells are for one goroutine.
type Cell struct {
	settled bool
	value   property.Value
	err     error

	// compute returns the cell that has this one's value, once the sources have theirs.
	compute func([]property.Value) (*Cell, error)
	sources []*Cell
	// next is the result of compute.
	next *Cell
}

// Of returns a cell with the value.
func Of(v property.Value) *Cell { return &Cell{settled: true, value: v} }

// Failed returns a cell that has no value because of the error.
func Failed(err error) *Cell { return &Cell{settled: true, err: err} }

// Pending returns a cell that somebody will settle.
func Pending() *Cell { return new(Cell) }

// Computed returns a cell whose value compute returns, or another cell with it. compute is called at
// most once: when all sources have their values and this one is wanted.
func Computed(sources []*Cell, compute func([]property.Value) (*Cell, error)) *Cell {
	return &Cell{sources: sources, compute: compute}
}

// Set settles a pending cell. The first time counts.
func (c *Cell) Set(v property.Value, err error) {
	if !c.settled {
		*c = Cell{settled: true, value: v, err: err}
	}
}

// Get returns the value, or an error in its place. ok is false while there is neither.
func (c *Cell) Get() (v property.Value, ok bool, err error) {
	if c == nil {
		return property.Null, true, nil
	}
	if !c.settled {
		c.settle()
	}
	return c.value, c.settled, c.err
}

func (c *Cell) settle() {
	if c.next == nil {
		if c.compute == nil {
			return
		}
		values := make([]property.Value, len(c.sources))
		for i, source := range c.sources {
			v, ok, err := source.Get()
			if err != nil {
				c.Set(property.Null, err)
				return
			}
			if !ok {
				return
			}
			values[i] = v
		}
		compute := c.compute
		c.compute = nil // so that it is not called again from within
		next, err := compute(values)
		if err != nil {
			c.Set(property.Null, err)
			return
		}
		if next == nil {
			next = Of(property.Null)
		}
		c.next = next
	}
	if v, ok, err := c.next.Get(); ok {
		c.Set(v, err)
	}
}

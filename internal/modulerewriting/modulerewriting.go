// Package modulerewriting selects the modules for which a host does the work that makes large ones start
// and run faster: a warm-up run, rewritten functions, and partial modules. Tests and benchmarks of
// this repository hand it to a host by context. Other hosts do it for large modules only.
package modulerewriting

import "context"

// Extent selects modules.
type Extent int

const (
	// Large selects modules from a size on, and in them functions that ran in the warm-up run.
	Large Extent = iota
	// All is for modules of any size, and for each function. It takes a cache directory.
	All
)

type key struct{}

// With returns a context for a new host.
func With(ctx context.Context, extent Extent) context.Context {
	return context.WithValue(ctx, key{}, extent)
}

// Of returns the extent of a host that is made with a context.
func Of(ctx context.Context) Extent {
	extent, _ := ctx.Value(key{}).(Extent)
	return extent
}

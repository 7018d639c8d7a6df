// Package rewriting says for which modules a host does what makes large ones start and run faster:
// rehearses them, rewrites their functions, and keeps parts of them. It is for tests and benchmarks
// of this module, which hand it to a host by the context that they make it with. Other hosts do it for
// large modules only.
package rewriting

import "context"

// Extent is for which modules it is done.
type Extent int

const (
	// Large is for modules from a size on, of which functions are rewritten that ran in the rehearsal.
	Large Extent = iota
	// All is for modules of any size, and for each function. A host must have a directory for its
	// cache.
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

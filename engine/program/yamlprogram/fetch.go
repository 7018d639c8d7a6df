package yamlprogram

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
)

// fetchedPackage is what was answered for a package.
type fetchedPackage struct {
	schema *schema.Package
	err    error
}

// fetch asks for all packages that the program names at once, as each may have to be built
// and compiled. What is wrong with one is told where the program uses it first, if it does.
func (c *compilation) fetch(ctx context.Context) {
	var all sync.WaitGroup
	fetch := func(token, version string) {
		name := providedPackage(token)
		if pkg, ok := packageOf(token); ok && name == "" {
			name = pkg
		}
		if name == "" || name == builtin.Package {
			return
		}
		want := c.wanted(name, version)
		key := packageKey{name, want.Version}
		if c.packages.fetched[key] != nil {
			return
		}
		f := &fetchedPackage{}
		c.packages.fetched[key] = f
		all.Go(func() { f.schema, f.err = c.packages.schemas.Package(ctx, want) })
	}
	for _, r := range c.resources {
		fetch(r.typ, r.options.version)
	}
	c.expressions(func(x expr.Expr) {
		if call, ok := x.(*expr.Invoke); ok {
			fetch(call.Token, call.Version)
		}
	})
	all.Wait()
}

// expressions visits each expression of the program, and all that it is made of.
func (c *compilation) expressions(visit func(expr.Expr)) {
	for _, v := range c.variables {
		expr.Walk(v.value, visit)
	}
	for _, r := range c.resources {
		for _, x := range (&node{resource: r}).expressions() {
			expr.Walk(x, visit)
		}
	}
	for _, o := range c.outputs {
		expr.Walk(o.value, visit)
	}
}

// schema answers the schema of a package, which is asked for where it was not yet.
func (p *packages) schema(ctx context.Context, key packageKey, want program.Package) (*schema.Package, error) {
	if f := p.fetched[key]; f != nil {
		return f.schema, f.err
	}
	return p.schemas.Package(ctx, want)
}

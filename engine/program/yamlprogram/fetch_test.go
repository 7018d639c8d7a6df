package yamlprogram

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
)

// backwards fails for the packages that are asked for, the last one first.
type backwards struct {
	// after says which package has to fail before one does.
	after map[string]string
	mu    sync.Mutex
	done  map[string]chan struct{}
	asked []string
}

func (b *backwards) failed(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done[name] == nil {
		b.done[name] = make(chan struct{})
	}
	return b.done[name]
}

func (b *backwards) Package(_ context.Context, pkg program.Package) (*schema.Package, error) {
	if other := b.after[pkg.Name]; other != "" {
		<-b.failed(other)
	}
	b.mu.Lock()
	b.asked = append(b.asked, pkg.Name+"@"+pkg.Version)
	b.mu.Unlock()
	close(b.failed(pkg.Name))
	return nil, errors.New("no " + pkg.Name)
}

// Packages are asked for at once, and what is wrong with them is told in the order of the
// program.
func TestPackagesAreFetchedAtOnce(t *testing.T) {
	p := load(t, `
plugins:
  providers:
    - {name: one, path: one.wasm}
    - {name: two, path: two.wasm}
    - {name: three, path: three.wasm}
    - {name: four, path: four.wasm}
    - {name: unused, path: unused.wasm}
resources:
  first: {type: one:Thing}
  again: {type: one:Thing}
  second: {type: pulumi:providers:two, options: {version: 2.0.0}}
  none: {type: three}
variables:
  found: {fn::invoke: {function: three:find, arguments: {of: {fn::invoke: {function: four:find}}}}}
`)
	schemas := &backwards{after: map[string]string{"one": "two", "two": "three", "three": "four"}, done: map[string]chan struct{}{}}
	p.schemas = schemas
	found, err := p.Check(t.Context(), runContext())
	require.NoError(t, err)
	require.Equal(t, []string{"four@", "three@", "two@2.0.0", "one@"}, schemas.asked, "each is asked for once")
	var summaries []string
	for _, d := range found {
		summaries = append(summaries, d.Summary)
	}
	require.Equal(t, []string{
		`the package "one" cannot be used: no one`,
		`the package "two" cannot be used: no two`,
		`"three" is not a type: it must have the form <package>:<name> or <package>:<module>:<name>`,
		`the package "three" cannot be used: no three`,
		`the package "four" cannot be used: no four`,
	}, summaries)
}

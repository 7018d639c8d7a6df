package providercmd

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/plugins"
)

// Conformance tests whether a provider keeps to the contract, for other commands than husk provider test.
type Conformance struct{ flags providerTestFlags }

// AddFlags adds the flags for grants, configuration, and cases.
func (c *Conformance) AddFlags(flags *pflag.FlagSet) {
	c.flags.add(flags)
	flags.StringVar(&c.flags.cases, "cases", "", "test with the cases in this file in place of generated inputs")
	flags.Var(cli.Repeated(&c.flags.untested), "allow-untested", "do not fail if this type, function, package, or configuration refused every input; can be repeated")
}

// Need replaces this process by husk-full if this program cannot test providers.
func (c *Conformance) Need(a *cli.App) error { return a.WithWhole(conformanceTest) }

// Run tests a module, and returns a summary of one line, and a line for each failure.
func (c *Conformance) Run(ctx context.Context, a *cli.App, p *plugins.Plugins, m *plugins.Module) (summary string, failures []string, err error) {
	o, err := c.flags.options()
	if err != nil {
		return "", nil, err
	}
	return a.Parts.TestModule(ctx, p, m, o)
}

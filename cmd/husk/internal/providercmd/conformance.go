package providercmd

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/plugins"
)

// Conformance tests whether a provider keeps to the contract, for other commands than husk provider test.
type Conformance struct{ flags providerTestFlags }

// AddFlags adds the flags for grants, configuration, and cases.
func (c *Conformance) AddFlags(flags *pflag.FlagSet) {
	c.flags.add(flags)
	flags.StringVar(&c.flags.cases, "cases", "", "test with the cases in this file in place of generated inputs")
	flags.StringArrayVar(&c.flags.untested, "allow-untested", nil, "do not fail if this type, function, package, or configuration refused every input; can be repeated")
}

// Run tests a module.
func (c *Conformance) Run(ctx context.Context, p *plugins.Plugins, m *plugins.Module) (*conformance.Report, error) {
	options, grants, err := c.flags.options()
	if err != nil {
		return nil, err
	}
	return runConformance(ctx, p, m, grants, options, false)
}

func runConformance(ctx context.Context, p *plugins.Plugins, m *plugins.Module, grants host.Grants, o conformance.Options, logs bool) (*conformance.Report, error) {
	return conformance.Run(ctx, func(ctx context.Context) (abi.Provider, error) {
		tested, err := p.Granted(ctx, m, grants, logs)
		if err != nil {
			return nil, err
		}
		return withContents(tested), nil
	}, o)
}

// Summary returns a report in a line, and a line for each failure.
func Summary(report *conformance.Report) (summary string, failures []string) {
	summary = fmt.Sprintf("%d ok, %d failed, %d skipped", report.Count(conformance.OK), report.Count(conformance.Failed), report.Count(conformance.Skipped))
	for _, r := range report.Failures() {
		failures = append(failures, fmt.Sprintf("%s %s: %s", r.Subject, r.Check, r.Message))
	}
	return summary, failures
}

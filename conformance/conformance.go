// Package conformance takes a provider through everything that the contract asks of
// it, and reports what it does not keep to. `husk provider test` runs it on modules;
// it drives any [abi.Provider].
//
// Inputs are generated from the provider's own schema, the same ones for the same
// seed, or come from a file of [Cases]. Each rule is a [Check] with a name. What a
// provider refuses to do with made-up inputs is no failure: the report says what was
// skipped, and why.
//
// Run creates, changes, and deletes resources, and it does so with all rights that the
// provider was given. Whoever opens the provider decides what these are.
package conformance

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Open opens the provider under test: new, not configured, and with the same outside
// world as the last one. Run opens it several times, because what a provider keeps
// must not be in its memory. Providers that are an io.Closer are closed.
type Open func(ctx context.Context) (abi.Provider, error)

// Options say what is tested, and with what. The zero value tests everything with
// generated inputs.
type Options struct {
	// Seed chooses the generated inputs.
	Seed uint64
	// Generated is how many inputs are generated for each resource type, function, and
	// the configuration, beside a secret one; 0 is [DefaultGenerated].
	Generated int
	// Cases are used in place of generated ones, for the types and functions that they
	// name; nil for none. What they say of the seed, the checks, and the parameters holds
	// where the options say nothing.
	Cases *Cases
	// CasesOnly leaves out what Cases does not name.
	CasesOnly bool
	// Only holds the names of the checks to run; empty for all.
	Only []string
	// Config is the provider's configuration. Properties that are required and missing
	// are generated.
	Config property.Map
	// Parameters make the provider into another package first; nil for none.
	Parameters *abi.Parameters
	// Extension has the provider serve that package beside its own, in place of becoming
	// it. The package is tested, with the configuration of the provider.
	Extension bool
	// AllowUntested are the resource types and functions, [Package], and [Configuration] of which
	// nothing need be seen to work: what the provider refused in all cases is skipped then, and a
	// failure for all others. Tokens may be as short as in programs.
	AllowUntested []string
	// ReadOnly leaves out what creates, changes, or deletes resources.
	ReadOnly bool
	// Observe tells what the provider can change outside of itself: a digest for each
	// thing, by its name. Previews are observed with it; nil where there is nothing to see.
	Observe func(context.Context) (map[string]string, error)
	// Timeout bounds one call; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Promptness is how long a call may go on once it is cancelled; 0 is
	// [DefaultPromptness].
	Promptness time.Duration
	// begun returns once a create that is to be cancelled has begun, or its context has ended;
	// nil returns after a time in which it should have.
	begun func(context.Context)
}

const (
	// DefaultGenerated is one input with what is required, one with everything, and two
	// with some of the rest.
	DefaultGenerated = 4
	// DefaultTimeout is longer than what a person waits for one resource in a test.
	DefaultTimeout = 2 * time.Minute
	// DefaultPromptness is less than the five seconds after which a host ends a guest
	// that does not react.
	DefaultPromptness = 4 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Generated <= 0 {
		o.Generated = DefaultGenerated
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Promptness <= 0 {
		o.Promptness = DefaultPromptness
	}
	if o.Cases == nil {
		o.Cases = &Cases{}
	}
	if o.Seed == 0 && o.Cases.Seed != nil {
		o.Seed = *o.Cases.Seed
	}
	if len(o.Only) == 0 {
		o.Only = o.Cases.Checks
	}
	if o.Parameters == nil && len(o.Cases.Parameters) > 0 {
		o.Parameters = &abi.Parameters{Case: abi.ParametersCaseArgs, Args: o.Cases.Parameters}
		o.Extension = o.Cases.Extension
	}
	return o
}

// UnknownCheckError is a name in Options.Only that no check has.
type UnknownCheckError struct{ Name string }

func (e *UnknownCheckError) Error() string {
	return fmt.Sprintf("there is no check %q", e.Name)
}

// Run tests the provider that open opens. The error is about the test itself: the
// provider could not be opened, or the context ended. What is wrong with the provider
// is in the report.
func Run(ctx context.Context, open Open, options Options) (*Report, error) {
	options = options.withDefaults()
	for _, name := range options.Only {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			return nil, &UnknownCheckError{Name: name}
		}
	}
	r := &run{options: options, open: open, report: &Report{Seed: options.Seed, given: options.Cases}}
	err := r.everything(ctx)
	r.closeAll()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.report.sort()
	return r.report, nil
}

// everything tests the package, then each of its parts.
func (r *run) everything(ctx context.Context) error {
	ready, err := r.introduce(ctx)
	if err != nil || !ready {
		return err
	}
	if err := r.resolveTokens(); err != nil {
		return err
	}
	r.testConfiguration(ctx)
	if only := r.options.Only; len(only) > 0 && !slices.ContainsFunc(only, func(name string) bool {
		return name != ruleHandshake && name != ruleSchema
	}) {
		return nil // which needs no configuration
	}
	if err := r.configure(ctx); err != nil {
		return err
	}
	if !r.configured {
		return nil
	}
	if err := r.testPackage(ruleConfigUnknown, func() (outcome, err error) { return r.unknownConfigOutcome(ctx) }); err != nil {
		return err
	}
	unknownTokens := func() (outcome, err error) { return r.unknownTokensOutcome(ctx), nil }
	if err := r.testPackage(ruleUnknownTokens, unknownTokens); err != nil {
		return err
	}
	for _, resource := range r.schema.Resources {
		r.testResource(ctx, resource)
	}
	for _, function := range r.schema.Functions {
		r.testFunction(ctx, function)
	}
	return r.testPackage(ruleCancel, func() (outcome, err error) { return r.cancelOutcome(ctx) })
}

// closeAll closes the providers that were opened.
func (r *run) closeAll() {
	for _, s := range r.opened {
		r.close(s)
	}
}

// close closes one provider, unless it was.
func (r *run) close(s *session) {
	if c, ok := s.opened.(io.Closer); ok && s.gone == nil {
		// What closing it says is no part of the contract.
		_ = c.Close()
	}
	s.gone = unseen("the provider was closed")
}

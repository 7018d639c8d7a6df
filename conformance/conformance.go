// Package conformance tests a provider against the contract, and reports the rules that the
// provider breaks. `husk provider test` runs the tests on a module. They drive any [abi.Provider].
//
// Inputs are generated from the provider's own schema, or come from a file of [Cases]. The same
// seed generates the same inputs. Each rule is a [Check] with a name. If a provider refuses generated inputs, that is not a
// failure: the report says which checks were skipped, and why.
//
// Run creates, changes, and deletes resources with all rights of the provider. The caller
// decides which rights it opens the provider with.
package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Open opens a new, unconfigured instance of the provider under test. All instances have the same
// outside world. Run opens several, because a provider must not keep state in its memory. Run
// closes an instance that is an io.Closer.
type Open func(ctx context.Context) (abi.Provider, error)

// Options select tests and inputs. The zero value tests everything with generated inputs.
type Options struct {
	// Seed chooses the generated inputs.
	Seed uint64
	// Generated is how many inputs are generated for each resource type, function, and
	// the configuration, beside a secret one; 0 is [DefaultGenerated].
	Generated int
	// Cases replace generated inputs for the types and functions that they name; nil for none.
	// Their seed, checks, and parameters apply if the options have none.
	Cases *Cases
	// CasesOnly skips every type and function that Cases does not name.
	CasesOnly bool
	// Only lists the names of the checks to run; empty for all.
	Only []string
	// Config is the provider's configuration. Missing required properties are generated.
	Config property.Map
	// Parameters parameterize the provider before the tests; nil for none.
	Parameters *abi.Parameters
	// Extension makes the provider serve the parameterized package beside its own. The tests
	// are of that package, with the configuration of the provider.
	Extension bool
	// AllowUntested lists subjects that may refuse every case: resource types, functions,
	// [Package], and [Configuration]. Their checks are then skipped; for other subjects they
	// fail. A token may be in the short form of programs.
	AllowUntested []string
	// ReadOnly skips checks that create, change, or delete resources.
	ReadOnly bool
	// Observe returns a digest, by name, of each thing that the provider can change outside of
	// itself. Run compares digests around previews. Observe is nil if there is nothing to see.
	Observe func(context.Context) (map[string]string, error)
	// Timeout bounds one call; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Promptness is how long a call may go on once it is cancelled; 0 is
	// [DefaultPromptness].
	Promptness time.Duration
	// begun returns once the create has begun, or its context has ended. nil waits a fixed time.
	begun func(context.Context)
}

const (
	// DefaultGenerated is one input with the required properties, one with all, two at random.
	DefaultGenerated = 4
	// DefaultTimeout is longer than a person waits for one resource in a test.
	DefaultTimeout = 2 * time.Minute
	// DefaultPromptness is below the five seconds after which a host stops a guest.
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

// Run tests the provider that open opens. Run fails if the provider cannot be opened, or the
// context ends. The faults of the provider are in the report.
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

// everything tests the package, its configuration, its resources, and its functions.
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

func (r *run) closeAll() {
	for _, s := range r.opened {
		r.close(s)
	}
}

// close closes a provider once.
func (r *run) close(s *session) {
	if s.gone == nil {
		_ = abi.Close(s.opened) // its error is not part of the contract
	}
	s.gone = unseen("the provider was closed")
}

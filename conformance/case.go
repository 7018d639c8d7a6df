package conformance

import "github.com/husk-dev/husk/abi/property"

// Cases are what a provider is tested with in place of generated inputs. See
// [ReadCases] for how they are written.
type Cases struct {
	// Provider says which provider the cases are for; for people.
	Provider string
	// Checks are the names of the checks to run; empty for all.
	Checks []string
	// Seed is that of the run that the cases come from, nil where they come from none.
	Seed *uint64
	// Parameters are the words that make the provider into another package first.
	Parameters []string
	// Extension has the provider serve that package beside its own.
	Extension bool
	// Config is the provider's configuration.
	Config property.Map
	// Configurations are checked and compared, not applied.
	Configurations []Case
	// Resources and Functions hold the cases of tokens.
	Resources map[string][]Case
	Functions map[string][]Case
}

// Case is one set of inputs: of a resource, of the configuration, or the arguments of
// a function.
type Case struct {
	// Name is for people, for example minimal.
	Name string
	// Inputs are what a program would give.
	Inputs property.Map
	// Updates are the inputs of later deployments. Without any, Run changes Inputs itself.
	Updates []Update
	// Expect is what must happen beyond the contract; nil for nothing.
	Expect *Expectation

	// written is true for a case that somebody wrote: to refuse it is a failure.
	written bool
	// again makes up other inputs in place of these; nil where there are no others.
	again func(attempt int) property.Map
}

// Update is one of a resource's later inputs.
type Update struct {
	Inputs property.Map
	// Expect is none, update, or replace: what Diff must find; empty for anything.
	Expect string
}

// Expectation is what a case's author knows beyond the contract.
type Expectation struct {
	// Refused holds the paths at which check must refuse the inputs.
	Refused []string
	// Error is the kind of error that create or invoke must answer, for example
	// not-found; empty for none.
	Error string
	// Outputs are properties that the state or the result must have; secrets match what
	// they hold.
	Outputs property.Map
}

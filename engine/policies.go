package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// PolicyError is a mandatory violation of a policy.
type PolicyError struct{ Violation analysis.Violation }

// Error names the violated policy and the resource, and describes the violation.
func (e *PolicyError) Error() string {
	v := e.Violation
	what := "the stack"
	if v.URN != "" {
		what = fmt.Sprintf("%s %q", v.URN.Type(), v.URN.Name())
	}
	message := abi.Cite(v.Message)
	if v.Path != "" {
		message = v.Path + ": " + message
	}
	return what + " violates the policy " + v.Source.String() + ": " + message
}

func (d *deployment) openPolicies(ctx context.Context) (err error) {
	if len(d.Policies) == 0 {
		return nil
	}
	if d.policies, err = analysis.Open(ctx, d.Policies, "husk "+d.Version, d.runContext()); err != nil {
		return err
	}
	d.gen.policies = d.policies
	for _, pack := range d.policies.Packs() {
		e := PolicyPackLoaded{Name: pack.Name, Version: pack.Version}
		for _, r := range pack.Rules {
			e.Policies = append(e.Policies, PolicyInfo{Name: r.Name, Level: r.Level.String(), Description: r.Description})
		}
		d.emit(e)
	}
	return nil
}

// remediate has the policies correct the checked inputs of a goal, and checks again what they changed. known is the
// recorded resource that is kept, nil if there is none. The corrections are for analyze to report, once these inputs
// count.
func (g *generator) remediate(ctx context.Context, gl *goal, provider abi.Provider, known *state.Resource, checked property.Map) (
	property.Map, []correction, error,
) {
	if g.policies == nil {
		return checked, nil, nil
	}
	id := ""
	if known != nil {
		id = known.ID
	}
	made, unable, err := g.policies.Remediate(ctx, g.policyResource(gl.state(checked), id))
	if err != nil {
		return checked, nil, err
	}
	var corrections []correction
	for _, v := range unable {
		corrections = append(corrections, correction{violation: &v})
	}
	result := checked
	for _, r := range made {
		r.Before = result
		if result, err = g.admitRemediation(ctx, gl, checked, r); err != nil {
			return checked, nil, fmt.Errorf("the inputs that the policy %s made: %w", r.Source, err)
		}
		r.After = result
		corrections = append(corrections, correction{remediation: &r})
	}
	if len(made) == 0 {
		return checked, corrections, nil
	}
	again, err := g.check(ctx, gl, provider, known, result)
	if err != nil {
		return checked, nil, fmt.Errorf("the inputs that the policy %s made are refused: %w", made[len(made)-1].Source, err)
	}
	return again, corrections, nil
}

// correction is the outcome of the policies that correct a resource: one of the two.
type correction struct {
	remediation *analysis.Remediation
	violation   *analysis.Violation
}

// admitRemediation returns the inputs that a policy made, as the engine takes them: secrets stay secret, the
// engine's own keys stay as they were, and files must be named by the program.
func (g *generator) admitRemediation(ctx context.Context, gl *goal, checked property.Map, r analysis.Remediation) (property.Map, error) {
	inputs := providers.KeepSecrets(checked, r.After.Lower(property.KindOutput))
	if inputs.ContainsUnknowns() && !g.previews() {
		return inputs, errors.New("they hold values that are not known")
	}
	inputs, err := g.assets.Admit(ctx, inputs, false)
	if err != nil {
		return inputs, err
	}
	if providers.IsType(gl.typ) {
		inputs = withEngineKeys(ownInputs(inputs), checked)
	}
	return inputs, nil
}

// analyze has the policies judge a resource as it will be, and reports corrections and violations. A mandatory
// violation is an error that prevents the step; a preview continues, and fails in the end.
func (g *generator) analyze(ctx context.Context, n *state.Resource, id string, corrections []correction) error {
	if g.policies == nil {
		return nil
	}
	var violations []analysis.Violation
	for _, c := range corrections {
		if r := c.remediation; r != nil {
			g.emit(PolicyRemediated{
				Source: r.Source, URN: n.URN, Message: r.Message,
				Changes: changesOf(diff{detailed: inputDiff(r.Before, r.After)},
					&state.Resource{Inputs: r.Before}, &state.Resource{Inputs: r.After, HideDiff: n.HideDiff}),
			})
		} else {
			violations = append(violations, *c.violation)
		}
	}
	found, err := g.policies.Analyze(ctx, g.policyResource(n, id))
	if err != nil {
		return err
	}
	return g.reportViolations(append(violations, found...))
}

// reportViolations reports violations. It returns an error for mandatory ones, unless a preview continues.
func (g *generator) reportViolations(violations []analysis.Violation) error {
	var errs []error
	for _, v := range violations {
		g.emit(PolicyViolated{Source: v.Source, Level: levelOf(v), URN: v.URN, Path: v.Path, Message: v.Message})
		if v.Mandatory {
			errs = append(errs, &PolicyError{v})
		}
	}
	err := errors.Join(errs...)
	if err == nil || !g.previews() {
		return err
	}
	g.failures.add(err)
	return nil
}

func levelOf(v analysis.Violation) string {
	if v.Mandatory {
		return abi.PolicyLevelMandatory.String()
	}
	return abi.PolicyLevelAdvisory.String()
}

// analyzeStack has the policies judge all that the deployment leaves behind.
func (d *deployment) analyzeStack(ctx context.Context) error {
	if !d.policies.AsksAboutStacks() || d.failures.stopped() {
		return nil
	}
	resources, err := state.Sort(d.recorder.Resources())
	if err != nil {
		return err
	}
	var all []abi.PolicyResource
	for _, res := range resources {
		if res.Delete || res.PendingReplacement {
			continue
		}
		r := d.gen.policyResource(res, res.ID)
		r.Properties = ownProperties(res, res.Outputs)
		all = append(all, r)
	}
	violations, err := d.policies.AnalyzeStack(ctx, all)
	if err != nil {
		return err
	}
	if err := d.gen.reportViolations(violations); err != nil {
		return err
	}
	return errors.Join(d.failures.all()...)
}

// policyResource returns a resource as policies see it, without an ID if it does not exist yet.
func (g *generator) policyResource(n *state.Resource, id string) abi.PolicyResource {
	r := abi.PolicyResource{
		URN: n.URN, Type: n.Type, Name: n.URN.Name(), Custom: n.Custom, ID: providers.ShownID(id),
		Properties: ownProperties(n, n.Inputs), Parent: n.Parent, Dependencies: n.Dependencies,
		Options: g.registrations.Options.Get(n.URN),
	}
	for _, key := range slices.Sorted(maps.Keys(n.PropertyDependencies)) {
		r.PropertyDependencies = append(r.PropertyDependencies, abi.PropertyDependency{Key: key, URNs: n.PropertyDependencies[key]})
	}
	if ref, _, err := providers.SplitReference(n.Provider); err == nil {
		provider := g.registrations.Goals.Get(ref)
		if provider == nil {
			provider = g.recorder.Lookup(ref)
		}
		r.Provider = &abi.PolicyProviderResource{URN: ref, Type: ref.Type(), Name: ref.Name()}
		if provider != nil {
			r.Provider.Properties = ownInputs(provider.Inputs)
		}
	}
	return r
}

// ownProperties are the properties without what only the engine knows of.
func ownProperties(n *state.Resource, properties property.Map) property.Map {
	if providers.IsType(n.Type) {
		return ownInputs(properties)
	}
	return properties
}

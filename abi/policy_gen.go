// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// PolicyLevel says what becomes of a violation. The operator's configuration decides, the pack only
// has a default.
type PolicyLevel uint8

const (
	// It is shown, and stops nothing.
	PolicyLevelAdvisory PolicyLevel = iota
	// The resource, or the deployment, fails.
	PolicyLevelMandatory
	// The policy corrects resources where it can; what it cannot is mandatory.
	PolicyLevelRemediate
	// The policy is not asked.
	PolicyLevelDisabled
)

var policyLevelNames = [...]string{
	"advisory",
	"mandatory",
	"remediate",
	"disabled",
}

// String returns the name that the contract gives the case.
func (v PolicyLevel) String() string { return caseName(policyLevelNames[:], uint8(v)) }

// PolicyActions says what a policy does. What it does not is not asked of it.
type PolicyActions uint32

const (
	// It may change the inputs of a resource.
	PolicyActionsRemediate PolicyActions = 1 << iota
	// It judges one resource.
	PolicyActionsAnalyze
	// It judges all resources together.
	PolicyActionsAnalyzeStack
)

// PolicyRule is a policy of the pack.
type PolicyRule struct {
	// The name by which it is configured, unique in the pack, for example
	// `required-tags`.
	Name string
	// What it demands, for people.
	Description string
	// The level that it has unless the operator chooses another one.
	Level   PolicyLevel
	Actions PolicyActions
	// A package's schema in JSON, as `get-schema` returns it, whose `config` is the
	// configuration of the policy; empty where it has none.
	ConfigSchema string
}

// PolicyHandshakeRequest is the request of [Policy.Handshake].
type PolicyHandshakeRequest struct {
	// The engine's name and version, for messages only.
	Engine string
}

// PolicyHandshakeResponse is the response of [Policy.Handshake].
type PolicyHandshakeResponse struct {
	// The pack's name, for example `house`.
	Name string
	// The pack's semantic version.
	Version string
	// The SDK and its version, for messages only.
	SDK string
	// The policies, in the order in which they correct resources.
	Rules []PolicyRule
}

// PolicyRuleConfig says how a policy is to be enforced.
type PolicyRuleConfig struct {
	Name  string
	Level PolicyLevel
	// Its configuration, which fits its `config-schema`, with defaults filled in.
	Properties property.Map
}

// PolicyConfigureRequest is the request of [Policy.Configure].
type PolicyConfigureRequest struct {
	// The deployment whose resources are judged.
	Context RunContext
	// All policies of the pack, in its order.
	Rules []PolicyRuleConfig
}

// PolicyProviderResource is the provider of a resource.
type PolicyProviderResource struct {
	URN  urn.URN
	Type string
	Name string
	// Its configuration.
	Properties property.Map
}

// PolicyResource is a resource that is judged.
type PolicyResource struct {
	URN  urn.URN
	Type string
	Name string
	// True for a resource with a provider of its own, false for a component.
	Custom bool
	// Empty where it does not exist yet.
	ID string
	// For `remediate` and `analyze` its inputs after the provider's check, for
	// `analyze-stack` what the deployment made: its outputs. Secrets come as such, and
	// what a preview does not know yet as unknown.
	Properties           property.Map
	Parent               urn.URN
	Dependencies         []urn.URN
	PropertyDependencies []PropertyDependency
	Options              ResourceOptions
	// Absent for components.
	Provider *PolicyProviderResource
}

// PolicyAnalyzeRequest is the request of [Policy.Analyze].
type PolicyAnalyzeRequest struct {
	Resource PolicyResource
}

// PolicyViolation says what a policy found wrong.
type PolicyViolation struct {
	// The name of the policy.
	Rule string
	// What is wrong and what to do, for people.
	Message string
	// The property that it is about; empty for the resource as a whole.
	Path string
	// The resource that it is about. Of meaning in the response of `analyze-stack` only,
	// where it may be empty: then it is about the stack.
	URN urn.URN
}

// PolicyAnalyzeResponse is the response of [Policy.Analyze] and [Policy.AnalyzeStack].
type PolicyAnalyzeResponse struct {
	Violations []PolicyViolation
}

// PolicyRemediateRequest is the request of [Policy.Remediate].
type PolicyRemediateRequest struct {
	Resource PolicyResource
}

// PolicyRemediation says what a policy made of a resource's inputs, after those before it.
type PolicyRemediation struct {
	// The name of the policy.
	Rule string
	// The inputs as they are to be; absent where the policy could not correct them,
	// which `message` explains.
	Properties *property.Map
	// What was corrected or why it could not be, for people; may be empty.
	Message string
}

// PolicyRemediateResponse is the response of [Policy.Remediate].
type PolicyRemediateResponse struct {
	// In the order in which they were made. A policy that had nothing to do is left out.
	Remediations []PolicyRemediation
}

// PolicyAnalyzeStackRequest is the request of [Policy.AnalyzeStack].
type PolicyAnalyzeStackRequest struct {
	// All resources that the deployment leaves behind, what they depend on first.
	Resources []PolicyResource
}

// Policy says what a policy pack does. It follows Pulumi's analyzer protocol, with typed requests
// and errors.
//
// A policy pack is a module as a provider is, which exports these functions instead, such as
// `husk:policy/policy@0.1.0#analyze`. The host calls `_initialize` first, then `handshake`,
// then `configure` once. An instance serves one call at a time. A host may run several
// instances, and may discard one between any two calls: do not keep state in an instance's
// memory.
type Policy interface {
	// Who the pack is, and which policies it has.
	Handshake(ctx context.Context, request PolicyHandshakeRequest) (PolicyHandshakeResponse, error)

	// How each policy is to be enforced. Policies of level `disabled` return nothing from then
	// on, and only policies of level `remediate` correct resources.
	Configure(ctx context.Context, request PolicyConfigureRequest) error

	// Correct the inputs of a resource, before it is judged and changed.
	Remediate(ctx context.Context, request PolicyRemediateRequest) (PolicyRemediateResponse, error)

	// Judge a resource before it is created or updated.
	Analyze(ctx context.Context, request PolicyAnalyzeRequest) (PolicyAnalyzeResponse, error)

	// Judge all resources together, at the end of a deployment in which nothing failed.
	AnalyzeStack(ctx context.Context, request PolicyAnalyzeStackRequest) (PolicyAnalyzeResponse, error)

	// Stop running work and release resources, for example before the instance is discarded.
	Cancel(ctx context.Context) error
}

package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Source is the policy that something comes from.
type Source struct {
	Pack    string `json:"pack"`
	Version string `json:"version"`
	Policy  string `json:"policy"`
}

func (s Source) String() string { return s.Policy + " of " + s.Pack + " " + s.Version }

// Violation is a fault of a resource, or of the stack if URN is empty.
type Violation struct {
	Source
	// Mandatory violations stop their step, others are shown.
	Mandatory bool
	URN       urn.URN
	// Path is the property, empty for none.
	Path    string
	Message string
}

// Remediation is a correction of a resource's inputs.
type Remediation struct {
	Source
	Message string
	// Before and After are all inputs.
	Before, After property.Map
}

// errBroken is a response that the contract does not allow.
var errBroken = errors.New("the policy pack broke the contract")

// Remediate has the packs correct a resource, one after the other, each the result of the ones before it. A fault that a policy
// could not correct is a violation: advisory if the policy also judges resources, else mandatory.
func (p *Panel) Remediate(ctx context.Context, r abi.PolicyResource) (made []Remediation, unable []Violation, err error) {
	if p == nil {
		return nil, nil, nil
	}
	hide := p.hider(r)
	for _, o := range p.packs {
		if o.actions&abi.PolicyActionsRemediate == 0 {
			continue
		}
		response, err := o.policy.Remediate(ctx, abi.PolicyRemediateRequest{Resource: r})
		if err != nil {
			return nil, nil, o.named("remediate", err)
		}
		for _, remediation := range response.Remediations {
			rule, err := o.rule(remediation.Rule)
			if err != nil {
				return nil, nil, err
			}
			if rule.Level != abi.PolicyLevelRemediate {
				return nil, nil, fmt.Errorf("%w: %s corrects resources, but its level is %s", errBroken, o.source(rule), rule.Level)
			}
			message := hide.in(remediation.Message)
			if remediation.Properties == nil {
				unable = append(unable, Violation{
					Source: o.source(rule), Mandatory: rule.Actions&abi.PolicyActionsAnalyze == 0, URN: r.URN,
					Message: "it could not be corrected: " + message,
				})
				continue
			}
			made = append(made, Remediation{Source: o.source(rule), Message: message, Before: r.Properties, After: *remediation.Properties})
			r.Properties = *remediation.Properties
		}
	}
	return made, unable, nil
}

// Analyze has the packs judge a resource.
func (p *Panel) Analyze(ctx context.Context, r abi.PolicyResource) ([]Violation, error) {
	found, err := p.judge(abi.PolicyActionsAnalyze, "analyze", func(policy abi.Policy) (abi.PolicyAnalyzeResponse, error) {
		return policy.Analyze(ctx, abi.PolicyAnalyzeRequest{Resource: r})
	}, r)
	for i := range found {
		found[i].URN = r.URN // it was asked about nothing else
	}
	return found, err
}

// AnalyzeStack has the packs judge all resources together.
func (p *Panel) AnalyzeStack(ctx context.Context, all []abi.PolicyResource) ([]Violation, error) {
	return p.judge(abi.PolicyActionsAnalyzeStack, "analyze-stack", func(policy abi.Policy) (abi.PolicyAnalyzeResponse, error) {
		return policy.AnalyzeStack(ctx, abi.PolicyAnalyzeStackRequest{Resources: all})
	}, all...)
}

// judge sends resources to each pack with policies of the action.
func (p *Panel) judge(
	action abi.PolicyActions, method string, ask func(abi.Policy) (abi.PolicyAnalyzeResponse, error), about ...abi.PolicyResource,
) (found []Violation, err error) {
	if p == nil {
		return nil, nil
	}
	for _, o := range p.packs {
		if o.actions&action == 0 {
			continue
		}
		response, err := ask(o.policy)
		if err != nil {
			return nil, o.named(method, err)
		}
		violations, err := p.violations(o, response, about...)
		if err != nil {
			return nil, err
		}
		found = append(found, violations...)
	}
	return found, nil
}

// AsksAboutStacks reports whether a policy judges stacks.
func (p *Panel) AsksAboutStacks() bool {
	return p != nil && slices.ContainsFunc(p.packs, func(o *opened) bool { return o.actions&abi.PolicyActionsAnalyzeStack != 0 })
}

// violations returns the violations of a response. Those of disabled policies are dropped, since a pack may
// ignore its configuration.
func (p *Panel) violations(o *opened, response abi.PolicyAnalyzeResponse, about ...abi.PolicyResource) ([]Violation, error) {
	if len(response.Violations) == 0 {
		return nil, nil
	}
	hide := p.hider(about...)
	var found []Violation
	for _, v := range response.Violations {
		rule, err := o.rule(v.Rule)
		switch {
		case err != nil:
			return nil, err
		case rule.Level == abi.PolicyLevelDisabled:
			continue
		case v.URN != "" && !slices.ContainsFunc(about, func(r abi.PolicyResource) bool { return r.URN == v.URN }):
			return nil, fmt.Errorf("%w: %s has a violation of %s, which it was not asked about", errBroken, o.source(rule), v.URN)
		}
		found = append(found, Violation{
			Source: o.source(rule), Mandatory: rule.Level != abi.PolicyLevelAdvisory,
			URN: v.URN, Path: v.Path, Message: hide.in(v.Message),
		})
	}
	return found, nil
}

func (o *opened) rule(name string) (*abi.PolicyRule, error) {
	i := slices.IndexFunc(o.Rules, func(r abi.PolicyRule) bool { return r.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s %s answers for a policy %q, which it does not have", errBroken, o.Name, o.Version, name)
	}
	return &o.Rules[i], nil
}

func (o *opened) source(r *abi.PolicyRule) Source { return Source{o.Name, o.Version, r.Name} }

// hidden replaces secrets in messages.
type hidden struct{ secrets []property.Map }

// minHidden is the least length in bytes of a secret that is hidden: shorter ones are parts of many words.
const minHidden = 4

// hider hides the secrets of resources, and of the stack's configuration.
func (p *Panel) hider(about ...abi.PolicyResource) hidden {
	h := hidden{[]property.Map{p.config}}
	for _, r := range about {
		h.secrets = append(h.secrets, r.Properties)
		if r.Provider != nil {
			h.secrets = append(h.secrets, r.Provider.Properties)
		}
	}
	return h
}

// in returns the message without secrets.
func (h hidden) in(message string) string {
	if message == "" {
		return ""
	}
	var texts []string
	for _, m := range h.secrets {
		m.EachSecret(func(v property.Value) {
			if s, ok := v.AsString(); ok && len(s) >= minHidden {
				texts = append(texts, s)
			}
		})
	}
	// The longest come first, since one may be part of another.
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	for _, s := range texts {
		message = strings.ReplaceAll(message, s, "[secret]")
	}
	return message
}

package policy

import (
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

var _ abi.Policy = (*pack)(nil)

// pack is a registered pack. It is configured once, before it is asked anything.
type pack struct {
	handshake abi.PolicyHandshakeResponse
	rules     []rule
	// begin returns the context in which the author's code runs, and the function that ends it.
	begin func(context.Context) (context.Context, context.CancelFunc)
	// run is the deployment, which Configure tells.
	run abi.RunContext
}

type rule struct {
	Policy
	shape *shape.Shape
	// level and config are as Configure says; config is nil before.
	level  Level
	config unsafe.Pointer
}

// everything is the name that stands for all policies in an operator's configuration.
const everything = "all"

// register makes an abi.Policy from the author's declaration.
func register(p Pack, begin func(context.Context) (context.Context, context.CancelFunc)) (*pack, error) {
	if p.Name == "" || p.Version == "" {
		return nil, errors.New("its name and version must not be empty")
	}
	made := &pack{begin: begin, handshake: abi.PolicyHandshakeResponse{Name: p.Name, Version: p.Version, SDK: SDK}}
	for _, declared := range p.Policies {
		r, documented, err := declare(p, declared)
		if err != nil {
			return nil, errors.New("policy " + declared.name + ": " + err.Error())
		}
		if made.rule(declared.name) != nil {
			return nil, errors.New("policy " + declared.name + ": it is declared twice")
		}
		made.rules = append(made.rules, r)
		made.handshake.Rules = append(made.handshake.Rules, abi.PolicyRule{
			Name: declared.name, Description: declared.description, Level: declared.level, Actions: declared.actions,
			ConfigSchema: documented,
		})
	}
	return made, nil
}

// declare returns a policy with the schema of its configuration.
func declare(p Pack, declared Policy) (r rule, configSchema string, err error) {
	switch {
	case declared.code == nil:
		return r, "", errors.New("it was not made by policy.Of")
	case declared.name == "":
		return r, "", errors.New("its name must not be empty")
	case declared.name == everything:
		return r, "", errors.New("its name stands for all policies where they are configured: choose another one")
	case declared.actions == 0:
		return r, "", errors.New("it has none of the functions Remedy, Resource, and Stack")
	case declared.level == Remediate && declared.actions&abi.PolicyActionsRemediate == 0:
		return r, "", errors.New("its level is Remediate, but it has no function Remedy")
	}
	b := &shape.Builder{Package: p.Name}
	s, err := b.Inputs(declared.config)
	if err != nil {
		return r, "", errors.New("configuration: " + err.Error())
	}
	if len(s.Object.Properties) > 0 {
		described := schema.Package{Name: p.Name, Version: p.Version, Config: *s.Object, Types: b.Types()}
		configSchema = string(described.AppendJSON(nil))
	}
	return rule{Policy: declared, shape: s}, configSchema, nil
}

func (p *pack) rule(name string) *rule {
	if i := slices.IndexFunc(p.rules, func(r rule) bool { return r.name == name }); i >= 0 {
		return &p.rules[i]
	}
	return nil
}

func (p *pack) Handshake(context.Context, abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	return p.handshake, nil
}

func (p *pack) Configure(_ context.Context, request abi.PolicyConfigureRequest) error {
	p.run = request.Context
	for _, c := range request.Rules {
		r := p.rule(c.Name)
		if r == nil {
			return abi.NewError(abi.ErrorKindInvalidArgument, "the pack "+p.handshake.Name+" has no policy "+c.Name)
		}
		if c.Level == Disabled {
			r.level, r.config = c.Level, nil
			continue
		}
		config := r.shape.New()
		if err := r.shape.Load(c.Properties, config); err != nil {
			return failed(r, err)
		}
		r.level, r.config = c.Level, config
	}
	return nil
}

// asked calls do with the configured policies that take part in an action.
func (p *pack) asked(ctx context.Context, u urn.URN, action abi.PolicyActions, do func(context.Context, *rule) error) error {
	ctx, end := p.begin(call.WithURN(ctx, u))
	defer end()
	for i := range p.rules {
		r := &p.rules[i]
		if r.config == nil || r.actions&action == 0 || action == abi.PolicyActionsRemediate && r.level != Remediate {
			continue
		}
		if err := do(ctx, r); err != nil {
			return failed(r, err)
		}
	}
	return nil
}

// failed returns the error of a policy that could not judge.
func failed(r *rule, err error) error {
	e := *abi.AsError(err)
	e.Message = "the policy " + r.name + ": " + e.Message
	return &e
}

func (p *pack) Remediate(ctx context.Context, request abi.PolicyRemediateRequest) (response abi.PolicyRemediateResponse, err error) {
	res := request.Resource
	err = p.asked(ctx, res.URN, abi.PolicyActionsRemediate, func(ctx context.Context, r *rule) error {
		remedy, err := r.code.remedy(ctx, r.config, p.run, res)
		if err != nil || remedy == (Remedy{}) {
			return err
		}
		if remedy.Inputs != nil {
			res.Properties = *remedy.Inputs
		}
		response.Remediations = append(response.Remediations, abi.PolicyRemediation{
			Rule: r.name, Properties: remedy.Inputs, Message: remedy.Message,
		})
		return nil
	})
	return response, err
}

func (p *pack) Analyze(ctx context.Context, request abi.PolicyAnalyzeRequest) (response abi.PolicyAnalyzeResponse, err error) {
	u := request.Resource.URN
	err = p.asked(ctx, u, abi.PolicyActionsAnalyze, func(ctx context.Context, r *rule) error {
		found, err := r.code.resource(ctx, r.config, p.run, request.Resource)
		for _, v := range found {
			response.Violations = append(response.Violations, abi.PolicyViolation{Rule: r.name, Message: v.Message, Path: v.Path, URN: u})
		}
		return err
	})
	return response, err
}

func (p *pack) AnalyzeStack(ctx context.Context, request abi.PolicyAnalyzeStackRequest) (response abi.PolicyAnalyzeResponse, err error) {
	err = p.asked(ctx, "", abi.PolicyActionsAnalyzeStack, func(ctx context.Context, r *rule) error {
		found, err := r.code.stack(ctx, r.config, p.run, request.Resources)
		for _, v := range found {
			response.Violations = append(response.Violations, abi.PolicyViolation{Rule: r.name, Message: v.Message, Path: v.Path, URN: v.URN})
		}
		return err
	})
	return response, err
}

func (p *pack) Cancel(context.Context) error { return nil }

// Package analysis asks policy packs about the resources of a deployment. The engine decides when to ask them, about which
// resources, and which steps a violation stops.
package analysis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// Pack is a policy pack that takes part in a deployment. Closing it is the caller's matter.
type Pack struct {
	Policy abi.Policy
	// Settings are the operator's, by the names of policies; those under [All] are for all others.
	Settings map[string]Setting
}

// All stands for all policies of a pack in its settings. The name is Pulumi's.
const All = "all"

// Setting is how an operator wants a policy enforced.
type Setting struct {
	// Level is nil for the policy's own.
	Level *abi.PolicyLevel
	// Properties are the policy's configuration, without defaults.
	Properties property.Map
}

// Info has the name of a pack, and its policies in a deployment.
type Info struct {
	Name, Version string
	// Rules have the levels that are in force.
	Rules []abi.PolicyRule
}

// Panel is the packs of a deployment. It is safe for concurrent use; a nil Panel has no packs.
type Panel struct {
	packs []*opened
	// config is the secrets of the stack's configuration.
	config property.Map
}

// opened is a pack that is configured.
type opened struct {
	Info
	policy abi.Policy
	// actions are the combined actions of the policies that are not disabled.
	actions abi.PolicyActions
}

// Open asks each pack who it is and configures it. Without packs the panel is nil.
func Open(ctx context.Context, packs []Pack, engine string, run abi.RunContext) (*Panel, error) {
	if len(packs) == 0 {
		return nil, nil
	}
	p := &Panel{}
	for _, c := range run.Config {
		if c.Secret {
			p.config = p.config.With(c.Key, property.Secret(property.String(c.Value)))
		}
	}
	for _, pack := range packs {
		o, err := open(ctx, pack, engine, run)
		if err != nil {
			return nil, err
		}
		p.packs = append(p.packs, o)
	}
	return p, nil
}

func (p *Panel) Packs() []Info {
	if p == nil {
		return nil
	}
	infos := make([]Info, len(p.packs))
	for i, o := range p.packs {
		infos[i] = o.Info
	}
	return infos
}

// Cancel notifies the packs that nothing more is asked of them.
func (p *Panel) Cancel(ctx context.Context) error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, o := range p.packs {
		if err := o.policy.Cancel(ctx); err != nil && !errors.Is(err, abi.ErrUnimplemented) {
			errs = append(errs, o.named("cancel", err))
		}
	}
	return errors.Join(errs...)
}

func open(ctx context.Context, pack Pack, engine string, run abi.RunContext) (*opened, error) {
	who, err := pack.Policy.Handshake(ctx, abi.PolicyHandshakeRequest{Engine: engine})
	if err != nil {
		return nil, fmt.Errorf("asking a policy pack who it is: %w", err)
	}
	o := &opened{Info: Info{Name: who.Name, Version: who.Version, Rules: slices.Clone(who.Rules)}, policy: pack.Policy}
	if err := o.wellFormed(); err != nil {
		return nil, fmt.Errorf("the policy pack %s %s broke the contract: %w", who.Name, who.Version, err)
	}
	request := abi.PolicyConfigureRequest{Context: run}
	if err := o.known(pack.Settings); err != nil {
		return nil, fmt.Errorf("configuration of the policy pack %s %s: %w", who.Name, who.Version, err)
	}
	for i := range o.Rules {
		config, err := configure(&o.Rules[i], pack.Settings)
		if err != nil {
			return nil, fmt.Errorf("configuration of the policy %s of %s %s: %w", o.Rules[i].Name, who.Name, who.Version, err)
		}
		request.Rules = append(request.Rules, config)
		if config.Level != abi.PolicyLevelDisabled {
			o.actions |= o.Rules[i].Actions
		}
	}
	if !slices.ContainsFunc(o.Rules, func(r abi.PolicyRule) bool { return r.Level == abi.PolicyLevelRemediate }) {
		o.actions &^= abi.PolicyActionsRemediate
	}
	if err := pack.Policy.Configure(ctx, request); err != nil {
		return nil, o.named("configure", err)
	}
	return o, nil
}

func (o *opened) wellFormed() error {
	if o.Name == "" {
		return errors.New("it has no name")
	}
	names := make(map[string]bool, len(o.Rules))
	for _, r := range o.Rules {
		switch {
		case r.Name == "" || r.Name == All:
			return fmt.Errorf("%q is not a valid name for a policy", r.Name)
		case names[r.Name]:
			return fmt.Errorf("it has two policies %s", r.Name)
		}
		names[r.Name] = true
	}
	return nil
}

// known refuses settings of policies that the pack does not have.
func (o *opened) known(settings map[string]Setting) error {
	names := make([]string, len(o.Rules))
	for i, r := range o.Rules {
		names[i] = r.Name
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name == All {
			if settings[name].Properties.Len() > 0 {
				return fmt.Errorf("%s can have a level and nothing else: configure each policy by its name", All)
			}
			continue
		}
		if slices.Contains(names, name) {
			continue
		}
		hint := "it has " + strings.Join(names, ", ")
		if near := schema.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Errorf("it has no policy %s; %s", name, hint)
	}
	return nil
}

// configure sets the level that is in force, and returns the policy's configuration with its defaults.
func configure(r *abi.PolicyRule, settings map[string]Setting) (abi.PolicyRuleConfig, error) {
	own := settings[r.Name]
	for _, level := range []*abi.PolicyLevel{settings[All].Level, own.Level} {
		if level != nil {
			r.Level = *level
		}
	}
	config := abi.PolicyRuleConfig{Name: r.Name, Level: r.Level, Properties: own.Properties}
	if r.Level == abi.PolicyLevelDisabled {
		return config, nil
	}
	described := &schema.Package{}
	if r.ConfigSchema != "" {
		var err error
		if described, err = schemajson.Parse([]byte(r.ConfigSchema)); err != nil {
			return config, fmt.Errorf("its schema cannot be read: %w", err)
		}
	}
	checked, failures := described.Config.Check(own.Properties)
	for _, f := range failures {
		return config, fmt.Errorf("%s: %s", f.Path, f.Reason)
	}
	config.Properties = checked
	return config, nil
}

// named adds the pack to an error. The host has done that for modules.
func (o *opened) named(method string, err error) error {
	e := *abi.AsError(err)
	if e.Provider == "" {
		e.Provider, e.Version, e.Method = o.Name, o.Version, method
	}
	return &e
}

// Package autonaming reads a stack's policy for the names of physical resources, the configuration
// pulumi:autonaming, and proposes names by it. Providers know which property of a resource is its name.
package autonaming

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// Key is the configuration key that holds the policy, as JSON.
const Key = "pulumi:autonaming"

// Names are the values that the patterns of a policy can refer to, beside the resource.
type Names struct {
	Organization, Project, Stack string
	// Config finds the value of a configuration key by its full name.
	Config func(key string) (entry abi.ConfigEntry, ok bool)
}

// Policy names resources. The nil Policy leaves that to the providers.
type Policy struct {
	rule
	providers map[string]provider
}

// provider is the policy's part for one package.
type provider struct {
	rule
	resources map[string]rule
}

// Proposal is the name that a policy has for one resource.
type Proposal struct {
	abi.Autonaming
	// Fixed marks a name that a replacement of the resource would have, too, so that the two cannot coexist.
	Fixed bool
	// Specific marks a policy that names the resource's package or type.
	Specific bool
}

// rule names resources. The zero rule leaves it to the provider.
type rule struct {
	isSet   bool
	mode    abi.AutonamingMode
	pattern pattern
}

// Rules as they are written. A mode excludes a pattern.
type ruleJSON struct {
	Mode    *string `json:"mode"`
	Pattern *string `json:"pattern"`
	Enforce *bool   `json:"enforce"`
}

type providerJSON struct {
	ruleJSON
	Resources map[string]ruleJSON `json:"resources"`
}

type policyJSON struct {
	ruleJSON
	Providers map[string]providerJSON `json:"providers"`
}

// Parse reads a policy. Errors name the place in the configuration.
func Parse(text string, names Names) (*Policy, error) {
	var in policyJSON
	err := intake.CheckJSON([]byte(text), &in, intake.Allowance)
	if err == nil {
		err = jsonerror.Unmarshal([]byte(text), &in)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", Key, err)
	}
	at := func(path string, err error) error { return fmt.Errorf("configuration %s%s: %w", Key, path, err) }
	p := &Policy{providers: make(map[string]provider, len(in.Providers))}
	if p.rule, _, err = in.compile(names); err != nil {
		return nil, at("", err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(in.Providers)) {
		entry := in.Providers[pkg]
		path := ".providers." + pkg
		r, isSet, err := entry.compile(names)
		if err != nil {
			return nil, at(path, err)
		}
		if !isSet {
			r = p.rule
		}
		pkgRules := provider{rule: r, resources: make(map[string]rule, len(entry.Resources))}
		for _, token := range slices.Sorted(maps.Keys(entry.Resources)) {
			path := fmt.Sprintf("%s.resources[%q]", path, token)
			switch r, isSet, err := entry.Resources[token].compile(names); {
			case err != nil:
				return nil, at(path, err)
			case !isSet:
				return nil, at(path, errors.New("give it a mode or a pattern"))
			default:
				pkgRules.resources[token] = r
			}
		}
		p.providers[pkg] = pkgRules
	}
	return p, nil
}

// compile reads a rule; isSet is false if it is empty.
func (in ruleJSON) compile(names Names) (r rule, isSet bool, err error) {
	switch {
	case in.Mode != nil && (in.Pattern != nil || in.Enforce != nil):
		return r, false, errors.New("a mode excludes pattern and enforce")
	case in.Pattern != nil:
		r = rule{isSet: true, mode: abi.AutonamingModePropose}
		if in.Enforce != nil && *in.Enforce {
			r.mode = abi.AutonamingModeEnforce
		}
		r.pattern, err = parsePattern(*in.Pattern, names)
		return r, true, err
	case in.Enforce != nil:
		return r, false, errors.New("enforce needs a pattern")
	case in.Mode == nil:
		return r, false, nil
	}
	switch *in.Mode {
	case "default":
		return rule{}, true, nil
	case "verbatim":
		return rule{isSet: true, mode: abi.AutonamingModeEnforce, pattern: pattern{{isName: true}}}, true, nil
	case "disabled":
		return rule{isSet: true, mode: abi.AutonamingModeDisable}, true, nil
	}
	return r, false, fmt.Errorf("unknown mode %q: there are default, verbatim, and disabled", *in.Mode)
}

// Propose returns the name for a resource of a type, nil if the provider is to choose. The same seed gives the
// same random parts.
func (p *Policy) Propose(typ, name string, seed []byte) *Proposal {
	if p == nil {
		return nil
	}
	r, specific := p.rule, false
	pkg, _, _ := strings.Cut(typ, ":")
	if pkgRules, ok := p.providers[pkg]; ok {
		r, specific = pkgRules.rule, true
		if own, ok := pkgRules.resources[typ]; ok {
			r = own
		}
	}
	if !r.isSet {
		return nil
	}
	out := &Proposal{Specific: specific, Fixed: !r.pattern.random()}
	out.Mode, out.ProposedName = r.mode, r.pattern.name(name, seed)
	return out
}

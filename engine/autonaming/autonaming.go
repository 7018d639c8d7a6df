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
	"github.com/husk-dev/husk/internal/jsonerror"
)

// Key is the configuration key that holds the policy, as JSON.
const Key = "pulumi:autonaming"

// Names are what the patterns of a policy can refer to beside the resource.
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

// provider is what a policy says of one package.
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
	says    bool
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
	err := jsonerror.Unmarshal([]byte(text), &in)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", Key, err)
	}
	at := func(path string, err error) error { return fmt.Errorf("configuration %s%s: %w", Key, path, err) }
	p := &Policy{providers: make(map[string]provider, len(in.Providers))}
	if p.rule, _, err = in.compile(names); err != nil {
		return nil, at("", err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(in.Providers)) {
		given := in.Providers[pkg]
		path := ".providers." + pkg
		r, said, err := given.compile(names)
		if err != nil {
			return nil, at(path, err)
		}
		if !said {
			r = p.rule
		}
		of := provider{rule: r, resources: make(map[string]rule, len(given.Resources))}
		for _, token := range slices.Sorted(maps.Keys(given.Resources)) {
			path := fmt.Sprintf("%s.resources[%q]", path, token)
			switch r, said, err := given.Resources[token].compile(names); {
			case err != nil:
				return nil, at(path, err)
			case !said:
				return nil, at(path, errors.New("give it a mode or a pattern"))
			default:
				of.resources[token] = r
			}
		}
		p.providers[pkg] = of
	}
	return p, nil
}

// compile reads a rule; said is false if it is empty.
func (in ruleJSON) compile(names Names) (r rule, said bool, err error) {
	switch {
	case in.Mode != nil && (in.Pattern != nil || in.Enforce != nil):
		return r, false, errors.New("a mode excludes pattern and enforce")
	case in.Pattern != nil:
		r = rule{says: true, mode: abi.AutonamingModePropose}
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
		return rule{says: true, mode: abi.AutonamingModeEnforce, pattern: pattern{{isName: true}}}, true, nil
	case "disabled":
		return rule{says: true, mode: abi.AutonamingModeDisable}, true, nil
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
	if of, ok := p.providers[pkg]; ok {
		r, specific = of.rule, true
		if own, ok := of.resources[typ]; ok {
			r = own
		}
	}
	if !r.says {
		return nil
	}
	out := &Proposal{Specific: specific, Fixed: !r.pattern.random()}
	out.Mode, out.ProposedName = r.mode, r.pattern.name(name, seed)
	return out
}

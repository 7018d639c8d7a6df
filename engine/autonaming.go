package engine

import (
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/autonaming"
)

// readNaming reads the policy for names from the stack's configuration.
func (r *runState) readNaming() error {
	config := func(key string) (abi.ConfigEntry, bool) {
		i := slices.IndexFunc(r.Config, func(c abi.ConfigEntry) bool { return c.Key == key })
		if i < 0 {
			return abi.ConfigEntry{}, false
		}
		return r.Config[i], true
	}
	policy, ok := config(autonaming.Key)
	if !ok {
		return nil
	}
	var err error
	r.naming, err = autonaming.Parse(policy.Value, autonaming.Names{
		Organization: r.Organization, Project: r.Project, Stack: r.Stack, Config: config,
	})
	return err
}

// proposeName returns what the policy for names has for a resource, nil where the
// provider chooses by itself. Where the name is always the same, a replacement must
// wait until the old resource is deleted, unless the program says otherwise.
func (g *generator) proposeName(gl *goal, provider abi.Provider, seed []byte, anew bool) *abi.Autonaming {
	proposal := g.naming.Propose(gl.typ, gl.name, seed)
	s, ok := provider.(*session)
	if proposal == nil || !ok {
		return nil
	}
	if !s.understands(abi.FeaturesAutonaming) {
		if proposal.Specific && anew {
			g.warn(gl.urn, "%s has a rule for this resource, but its provider names it by itself", autonaming.Key)
		}
		return nil
	}
	if proposal.Fixed && gl.options.DeleteBeforeReplace == nil {
		gl.options.DeleteBeforeReplace = &proposal.Fixed
	}
	return &proposal.Autonaming
}

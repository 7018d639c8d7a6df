package engine

import (
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
)

// PolicyPackLoaded says which policies a pack brings to a deployment, and how they are
// enforced.
type PolicyPackLoaded struct {
	Name     string       `json:"name"`
	Version  string       `json:"version"`
	Policies []PolicyInfo `json:"policies"`
}

// PolicyInfo describes a policy to those who watch.
type PolicyInfo struct {
	Name        string `json:"name"`
	Level       string `json:"level"` // advisory, mandatory, remediate, disabled
	Description string `json:"description,omitempty"`
}

// PolicyRemediated says that a policy corrected the inputs of a resource.
type PolicyRemediated struct {
	analysis.Source
	URN     urn.URN          `json:"urn"`
	Message string           `json:"message,omitempty"`
	Changes []PropertyChange `json:"changes"`
}

// PolicyViolated says that a resource, or the stack, is not as a policy wants it.
type PolicyViolated struct {
	analysis.Source
	Level string `json:"level"` // advisory or mandatory
	// URN is empty for the stack.
	URN     urn.URN `json:"urn,omitempty"`
	Path    string  `json:"path,omitempty"`
	Message string  `json:"message"`
}

// PolicyCounts counts what policies did in a deployment.
type PolicyCounts struct {
	Packs      int `json:"packs"`
	Mandatory  int `json:"mandatory"`
	Advisory   int `json:"advisory"`
	Remediated int `json:"remediated"`
}

// Type returns "policy-pack-loaded".
func (PolicyPackLoaded) Type() string { return "policy-pack-loaded" }

// Type returns "policy-remediated".
func (PolicyRemediated) Type() string { return "policy-remediated" }

// Type returns "policy-violated".
func (PolicyViolated) Type() string { return "policy-violated" }

// count adds an event to the counts, which begin with the first pack.
func (c *PolicyCounts) count(e Event) *PolicyCounts {
	switch e := e.(type) {
	case PolicyPackLoaded:
		if c == nil {
			c = &PolicyCounts{}
		}
		c.Packs++
	case PolicyRemediated:
		c.Remediated++
	case PolicyViolated:
		if e.Level == "mandatory" {
			c.Mandatory++
		} else {
			c.Advisory++
		}
	}
	return c
}

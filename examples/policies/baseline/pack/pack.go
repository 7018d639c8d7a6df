// Package pack holds the policies of baseline, one in each file.
package pack

import (
	"strings"

	"github.com/husk-dev/husk/guest-sdk/policy"
)

// New returns the pack.
func New() policy.Pack {
	return policy.Pack{
		Name: "baseline", Version: "0.1.0",
		Policies: []policy.Policy{requiredTags, secretProperties, naming},
	}
}

// ofEngine reports whether a resource is the engine's own: the stack, or a provider.
func ofEngine(typ string) bool { return strings.HasPrefix(typ, "pulumi:") }

package pack

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type secretsConfig struct {
	Names  []string `husk:"names,optional" doc:"Parts of the names of properties that must be secret, in any case. Where none is listed: password, secret, private_key, privateKey, and token."`
	Except []string `husk:"except,optional" doc:"Types of resources that need not keep to this."`
}

var sensitive = []string{"password", "secret", "private_key", "privatekey", "token"}

var secretProperties = policy.Of(policy.Rule[secretsConfig]{
	Name:        "secret-properties",
	Description: "What sounds like a secret is marked as one, in inputs, in outputs, and in what the stack gives out.",
	Level:       policy.Mandatory,
	Resource: func(_ context.Context, r policy.ResourceRequest[secretsConfig]) ([]policy.Violation, error) {
		return r.Config.plain(r.Resource, "it is passed in plain text: make it a secret"), nil
	},
	Stack: func(_ context.Context, r policy.StackRequest[secretsConfig]) ([]policy.Violation, error) {
		var found []policy.Violation
		for _, res := range r.Resources {
			message := "the output is in plain text: list it under additionalSecretOutputs"
			if ofEngine(res.Type) {
				message = "the output is in plain text: make it a secret"
			}
			found = append(found, r.Config.plain(res, message)...)
		}
		return found, nil
	},
})

// plain returns a violation for each property that should be secret and is not.
func (c secretsConfig) plain(r abi.PolicyResource, message string) []policy.Violation {
	for _, t := range c.Except {
		if t == r.Type {
			return nil
		}
	}
	var found []policy.Violation
	c.walk(nil, property.Object(r.Properties), func(at property.Path) {
		found = append(found, policy.Violation{URN: r.URN, Path: at.String(), Message: message})
	})
	return found
}

// walk calls f with where text stands that should be secret and is not.
func (c secretsConfig) walk(at property.Path, v property.Value, f func(property.Path)) {
	if elements, ok := v.AsArray(); ok {
		for i, e := range elements {
			c.walk(at.Append(property.Index(i)), e, f)
		}
	}
	m, _ := v.AsObject()
	for name, e := range m.All() {
		inside := at.Append(property.Key(name))
		if text, ok := e.AsString(); ok && text != "" && c.sensitive(name) {
			f(inside)
		}
		c.walk(inside, e, f)
	}
}

func (c secretsConfig) sensitive(name string) bool {
	parts := c.Names
	if len(parts) == 0 {
		parts = sensitive
	}
	for _, part := range parts {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) {
			return true
		}
	}
	return false
}

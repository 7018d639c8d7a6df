package enginetest

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

// Rule and ResourceRequest are of policies without settings.
type (
	Rule            = policy.Rule[policy.None]
	ResourceRequest = policy.ResourceRequest[policy.None]
)

// Noted demands of the test's resources an input "note".
func Noted(level policy.Level) Rule {
	return Rule{Name: "noted", Level: level, Resource: func(_ context.Context, r ResourceRequest) ([]policy.Violation, error) {
		if r.Resource.Type != Plain && r.Resource.Type != Strict || r.Resource.Properties.Has("note") {
			return nil, nil
		}
		return []policy.Violation{{Path: "note", Message: "add a note to " + r.Resource.Name}}, nil
	}}
}

// Notes gives resources the note that Noted demands, unless they refuse it.
func Notes() Rule {
	r := Noted(policy.Remediate)
	r.Remedy = func(_ context.Context, r ResourceRequest) (policy.Remedy, error) {
		switch {
		case r.Resource.Type != Plain && r.Resource.Type != Strict || r.Resource.Properties.Has("note"):
			return policy.Remedy{}, nil
		case r.Resource.Properties.Has("refuses"):
			return policy.Remedy{Message: "it refuses notes"}, nil
		}
		inputs := r.Resource.Properties.With("note", property.String("by the house"))
		return policy.Remedy{Inputs: &inputs, Message: "added a note"}, nil
	}
	return r
}

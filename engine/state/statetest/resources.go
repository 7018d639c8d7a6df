// Package statetest holds what tests of states share, and tests of states as their users see them.
package statetest

import (
	"encoding/json"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// URN returns the URN of a resource of the stack.
func URN(typ, name string) urn.URN { return urn.New("dev", "p", "", typ, name) }

// Provider returns a provider, which the resources of Custom have.
func Provider() *state.Resource {
	return &state.Resource{URN: URN("pulumi:providers:a", "default"), Type: "pulumi:providers:a", Custom: true, ID: "1"}
}

// Custom returns a resource that holds together with Provider.
func Custom(name string, dependencies ...urn.URN) *state.Resource {
	return &state.Resource{URN: URN("a:b:C", name), Type: "a:b:C", Custom: true, ID: name,
		Provider: Provider().Reference(), Dependencies: dependencies}
}

// Changed returns a resource with a change.
func Changed(r *state.Resource, change func(*state.Resource)) *state.Resource {
	c := *r
	change(&c)
	return &c
}

// Names returns the names of resources.
func Names(all []*state.Resource) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.URN.Name())
	}
	return out
}

// Resources returns the resources of a snapshot, in their order.
func Resources(s *state.Snapshot) []*state.Resource {
	var out []*state.Resource
	for _, r := range s.Resources() {
		out = append(out, r)
	}
	return out
}

// EveryChange is an entry with each kind of change, for a snapshot of two.
func EveryChange() state.Entry {
	secret := Changed(Custom("new"), func(r *state.Resource) {
		r.Inputs = property.MapOf(map[string]property.Value{"s": property.Secret(property.String("hunter2"))})
	})
	return state.Entry{
		state.BeginOperation{Op: 7, Type: state.OperationCreating, Resource: secret},
		state.BeginOperation{Op: 8, Type: state.OperationDeleting, Resource: Custom("x")},
		state.EndOperation{Op: 8},
		state.PutResource{Serial: 12, Resource: secret},
		state.PutResource{Serial: 0, Resource: Changed(Provider(), func(r *state.Resource) { r.Protect = true })},
		state.RemoveResource{Serial: 1},
		state.SetManifest{Manifest: state.Manifest{Time: time.Unix(1e9, 0).UTC(), Version: "v1", Plugins: []state.Plugin{{Name: "a", Type: "resource"}}}},
		state.SetExtensions{},
		state.SetExtensions{Value: json.RawMessage(`{"a": 1}`)},
	}
}

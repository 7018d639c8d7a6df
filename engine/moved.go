package engine

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// suggestMoves tells of resources that are about to be deleted while a like one was
// created in this run: likely one resource, renamed or moved in the program. Nothing
// follows from it; the user may give the new one an alias.
func (r *runState) suggestMoves(leaving []*state.Resource) {
	// A name comes before like inputs; what looks like several others looks like none.
	looks := func(res *state.Resource) []string {
		if res.Type == urn.RootType || isProviderType(res.Type) || res.External {
			return nil
		}
		return []string{res.Type + " name " + res.URN.Name(), res.Type + " inputs " + property.Render(property.Object(res.Inputs))}
	}
	going, coming := make(map[string][]*state.Resource), make(map[string][]*state.Resource)
	sort := func(into map[string][]*state.Resource, res *state.Resource) {
		for _, look := range looks(res) {
			into[look] = append(into[look], res)
		}
	}
	var old []*state.Resource
	for _, res := range leaving {
		if !res.Delete && !res.PendingReplacement {
			old = append(old, res)
			sort(going, res)
		}
	}
	if len(old) == 0 {
		return
	}
	for res := range r.registrations.created.Entries() {
		sort(coming, res)
	}
	moved := make(map[urn.URN]urn.URN)
	for _, res := range old {
		for _, l := range looks(res) {
			if len(going[l]) == 1 && len(coming[l]) == 1 && moved[res.URN] == "" {
				moved[res.URN] = coming[l][0].URN
			}
		}
	}
	taken := make(map[urn.URN]bool)
	for _, res := range old {
		to := moved[res.URN]
		if to == "" || taken[to] {
			continue
		}
		taken[to] = true
		// With an alias for the parent, the child finds itself.
		if parent := r.registrations.goals.Get(to).Parent; parent == "" || moved[res.Parent] != parent {
			r.emit(MoveSuggested{From: res.URN, To: to})
		}
	}
}

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/state"
)

// aliases returns the earlier URNs of the goal: those that it names, and those that follow from the earlier
// URNs of its parent. A child that is named after its parent was so before: below "site", once "page", the
// child "site-bucket" was "page-bucket".
func (g *generator) aliases(gl *goal) []registration.Alias {
	inherited := g.registrations.Aliases.Get(gl.parent)
	var out []registration.Alias
	add := func(u urn.URN, inherited bool) {
		if u != gl.urn && !slices.ContainsFunc(out, func(a registration.Alias) bool { return a.URN == u }) {
			out = append(out, registration.Alias{URN: u, Inherited: inherited})
		}
	}
	earlier := func(stack, project string, parent urn.URN, typ, name string) {
		add(urn.New(stack, project, parent, typ, name), false)
		if parent != gl.parent {
			return
		}
		for _, before := range inherited {
			child, was := name, before.URN
			if rest, ok := strings.CutPrefix(name, parent.Name()); ok {
				child = was.Name() + rest
			}
			add(urn.New(was.Stack(), was.Project(), was, typ, child), true)
		}
	}
	stack, project := g.Stack, g.Project
	for _, a := range gl.options.Aliases {
		if a.Case == abi.AliasCaseURN {
			add(a.URN, false)
			continue
		}
		s := a.Spec
		parent := gl.parent
		switch {
		case s.NoParent:
			parent = ""
		case s.ParentURN != "":
			parent = s.ParentURN
		}
		earlier(cmp.Or(s.Stack, stack), cmp.Or(s.Project, project), parent, cmp.Or(s.Type, gl.typ), cmp.Or(s.Name, gl.name))
	}
	if gl.parent != "" {
		earlier(stack, project, gl.parent, gl.typ, gl.name)
	}
	return out
}

// findAliased finds the recorded resource that the goal's aliases name, nil if
// there is none.
func (g *generator) findAliased(gl *goal) (old *state.Resource, err error) {
	for _, a := range g.registrations.Aliases.Get(gl.urn) {
		found := g.recorder.Lookup(a.URN)
		by := g.registrations.Matched.Get(a.URN)
		switch {
		case a.Inherited && (by != "" || g.registrations.Claimed.Get(a.URN)):
			continue
		case by != "":
			return nil, fmt.Errorf("alias %s is claimed by %s too: an alias can name only one resource", a.URN, by)
		case found == nil:
			continue
		case g.registrations.Claimed.Get(a.URN):
			return nil, fmt.Errorf("alias %s names a resource that is registered as well: remove the alias", a.URN)
		case old != nil && old != found:
			return nil, fmt.Errorf("the aliases match two recorded resources, %s and %s: remove one", old.URN, found.URN)
		}
		old = found
	}
	return old, nil
}

// suggestAliases reports resources that are about to be deleted while a like one was created: likely one
// resource that was renamed or moved in the program.
func (d *deployment) suggestAliases(leaving []*state.Resource) {
	// A name comes before like inputs; what looks like several others looks like none.
	looks := func(res *state.Resource) []string {
		if res.Type == urn.RootType || providers.IsType(res.Type) || res.External {
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
	for res := range d.registrations.Created.Entries() {
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
		if parent := d.registrations.Goals.Get(to).Parent; parent == "" || moved[res.Parent] != parent {
			d.emit(MoveSuggested{From: res.URN, To: to})
		}
	}
}

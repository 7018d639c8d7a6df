package stackgraph

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/graphdraw"
)

// Marks returns words for the special properties of a resource in a state.
func Marks(r *state.Resource) []string {
	var marks []string
	for _, m := range []struct {
		mark string
		set  bool
	}{
		{"protected", r.Protect}, {"tainted", r.Taint}, {"external", r.External},
		{"to be deleted", r.Delete}, {"to be made again", r.PendingReplacement}, {"not ready", len(r.InitErrors) > 0},
	} {
		if m.set {
			marks = append(marks, m.mark)
		}
	}
	return marks
}

// Mark shows the marks of a resource in a graph. It is for [Options].
func Mark(r *state.Resource) (string, graphdraw.Look) {
	note, look := strings.Join(Marks(r), ", "), graphdraw.LookPlain
	switch {
	case r.Taint || r.PendingReplacement:
		look = graphdraw.LookChanged
	case len(r.InitErrors) > 0:
		look = graphdraw.LookRemoved
	case r.External:
		look = graphdraw.LookFaint
	}
	return note, look
}

// Branch is a line of a tree.
type Branch struct {
	// Prefix has the lines that lead to the resource from its parent.
	Prefix string
	// Resource is nil for a line that stands for others, which More counts.
	Resource *state.Resource
	More     int
}

// Tree returns the resources of a state by their parents, sorted by type and name. It leaves out the stack
// itself, and the default providers. Of the children of one resource it returns so many at most; 0 stands for all.
func Tree(s *state.Snapshot, most int) []Branch {
	resources := make(map[urn.URN]bool)
	var shown []*state.Resource
	for _, r := range s.Resources() {
		if r.Type != urn.RootType && !engine.IsDefaultProvider(r.URN) {
			shown = append(shown, r)
			resources[r.URN] = true
		}
	}
	children := make(map[urn.URN][]*state.Resource)
	for _, r := range shown {
		parent := r.Parent
		if !resources[parent] || parent == r.URN {
			parent = ""
		}
		children[parent] = append(children[parent], r)
	}
	for _, members := range children {
		slices.SortStableFunc(members, func(a, b *state.Resource) int {
			return strings.Compare(display.Subject(a.Type, a.URN.Name()), display.Subject(b.Type, b.URN.Name()))
		})
	}
	var out []Branch
	visited := make(map[urn.URN]bool) // a damaged state may have circles
	var add func(members []*state.Resource, indent string)
	add = func(members []*state.Resource, indent string) {
		more := 0
		if most > 0 && len(members) > most+1 {
			members, more = members[:most], len(members)-most
		}
		for i, r := range members {
			corner, below := "├─ ", "│  "
			if i == len(members)-1 && more == 0 {
				corner, below = "└─ ", "   "
			}
			out = append(out, Branch{Prefix: indent + corner, Resource: r})
			if !visited[r.URN] && !r.Delete {
				visited[r.URN] = true
				add(children[r.URN], indent+below)
			}
		}
		if more > 0 {
			out = append(out, Branch{Prefix: indent + "└─ ", More: more})
		}
	}
	add(children[""], "")
	return out
}

// Subject names the resource of a branch for people, with its marks.
func (b Branch) Subject() (subject, marks string) {
	return display.Subject(b.Resource.Type, b.Resource.URN.Name()), strings.Join(Marks(b.Resource), ", ")
}

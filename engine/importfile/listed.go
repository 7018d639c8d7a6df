package importfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// Listed collects, from a preview's events, an import file of the resources that would be created. The zero Listed is ready to
// use.
type Listed struct {
	file  File
	names map[urn.URN]string
	taken map[string]bool
	// known holds the existing resources that the table may name.
	known map[urn.URN]bool
}

// Event takes an event of a preview.
func (l *Listed) Event(e engine.Event) {
	done, ok := e.(engine.StepDone)
	if !ok || done.Step.Resource == urn.RootType || done.Step.DefaultProvider {
		return
	}
	if l.names == nil {
		l.names, l.taken, l.known = make(map[urn.URN]string), make(map[string]bool), make(map[urn.URN]bool)
	}
	s := done.Step
	name := l.nameOf(s.URN)
	if s.Op != engine.OpCreate || strings.HasPrefix(s.Resource, "pulumi:providers:") {
		l.known[s.URN] = true
		return
	}
	res := Resource{Type: s.Resource, Name: name, ID: Placeholder}
	if name != s.Name {
		res.LogicalName = s.Name
	}
	if !s.Custom {
		res.ID, res.Component = "", true
	}
	if s.Parent != "" && s.Parent.Type() != urn.RootType {
		res.Parent = l.mention(s.Parent)
	}
	if s.Provider != "" {
		res.Provider = l.mention(s.Provider)
	}
	l.file.Resources = append(l.file.Resources, res)
}

// nameOf returns the resource's name in the file: its own, with a number if that is taken.
func (l *Listed) nameOf(u urn.URN) string {
	if name, ok := l.names[u]; ok {
		return name
	}
	name := u.Name()
	for n := 2; l.taken[name]; n++ {
		name = fmt.Sprintf("%s%d", u.Name(), n)
	}
	l.names[u], l.taken[name] = name, true
	return name
}

// mention names a parent or provider, in the table if it is not in the file.
func (l *Listed) mention(u urn.URN) string {
	name := l.nameOf(u)
	if l.known[u] {
		if l.file.NameTable == nil {
			l.file.NameTable = make(map[string]urn.URN)
		}
		l.file.NameTable[name] = u
	}
	return name
}

// File returns the collected resources, sorted by name.
func (l *Listed) File() *File {
	f := l.file
	f.Resources = slices.Clone(f.Resources)
	sorted.By(f.Resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return &f
}

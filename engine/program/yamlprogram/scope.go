package yamlprogram

import (
	"cmp"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// instance is a registered resource. In a check, nothing is known about it.
type instance struct {
	decl *resource
	urn  urn.URN
	// id is empty for components, and while it is not known.
	id    string
	state property.Map
	// complete says that properties which the state lacks are null, and not unknown.
	complete bool
	// dependencies are the resources that single properties were computed from.
	dependencies map[string][]string
}

// versionProperty is a property of a provider beside its configuration.
const versionProperty = "version"

func (i *instance) value() property.Value {
	p := derivation.Derivation{URNs: []string{string(i.urn)}}
	return p.Wrap(property.Reference(property.ResourceReference{
		URN: string(i.urn), HasID: !i.decl.isComponent(), ID: i.id, PackageVersion: i.decl.packageVersion,
	}))
}

// property returns a property of the resource; its provenance names the resource.
func (i *instance) property(name string) property.Value {
	p := derivation.Derivation{URNs: []string{string(i.urn)}}
	p.Add(i.dependencies[name]...)
	var v property.Value
	switch {
	case name == "urn":
		v = property.String(string(i.urn))
	case name == "id" && i.id != "":
		v = property.String(i.id)
	case name == "id" && !i.decl.isComponent():
		v = property.Unknown
	case name == versionProperty && i.decl.isProvider() && !i.state.Has(name) && i.decl.providerVersion != "":
		v = property.String(i.decl.providerVersion)
	case i.state.Has(name):
		v = p.Peel(i.state.Get(name))
	case !i.complete:
		v = property.Unknown
	}
	return p.Wrap(v)
}

// reference returns the reference of a provider in options: <urn>::<id>.
func (i *instance) reference() string {
	return providers.Reference(i.urn, cmp.Or(i.id, providers.UnknownID))
}

// scope holds the values of a program's names. It is safe for concurrent use.
type scope struct {
	mu     sync.RWMutex
	values map[string]property.Value
	byURN  map[string]*instance
	// outer has the names that this one lacks; it may be nil.
	outer *scope
}

// newScope returns a scope with room for so many resources.
func newScope(resources int) *scope {
	return &scope{values: make(map[string]property.Value, resources), byURN: make(map[string]*instance, resources)}
}

func (s *scope) set(name string, v property.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[name] = v
}

func (s *scope) setInstance(i *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[i.decl.name] = i.value()
	s.byURN[string(i.urn)] = i
}

// with returns a scope in which a resource is another instance.
func (s *scope) with(i *instance) *scope {
	inner := newScope(1)
	inner.outer = s
	inner.setInstance(i)
	return inner
}

func (s *scope) lookup(name string) (property.Value, bool) {
	s.mu.RLock()
	v, ok := s.values[name]
	s.mu.RUnlock()
	if !ok && s.outer != nil {
		return s.outer.lookup(name)
	}
	return v, ok
}

func (s *scope) instance(urn string) *instance {
	s.mu.RLock()
	i := s.byURN[urn]
	s.mu.RUnlock()
	if i == nil && s.outer != nil {
		return s.outer.instance(urn)
	}
	return i
}

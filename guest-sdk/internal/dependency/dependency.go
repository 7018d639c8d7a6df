// Package dependency converts between the dependencies that values carry and those that requests list.
package dependency

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Of lists the resources that each top-level property comes from.
func Of(m property.Map) []abi.PropertyDependency {
	var list []abi.PropertyDependency
	for name, v := range m.All() {
		dependencies := v.Dependencies()
		if len(dependencies) == 0 {
			continue
		}
		urns := make([]urn.URN, len(dependencies))
		for i, u := range dependencies {
			urns[i] = urn.URN(u)
		}
		list = append(list, abi.PropertyDependency{Key: name, URNs: urns})
	}
	return list
}

// With returns v as a value that depends on the resources.
func With(v property.Value, urns []urn.URN) property.Value {
	if len(urns) == 0 {
		return v
	}
	o := property.Output{Value: v}
	for _, u := range urns {
		o.Dependencies = append(o.Dependencies, string(u))
	}
	return property.OutputOf(o)
}

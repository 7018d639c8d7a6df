package deploy

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// Declaration is a resource that a program or component wants to have.
type Declaration struct {
	// Type is the resource's token, of any package.
	Type string
	// Name must differ from other children's of the type and parent. In components, most begin with the component's.
	Name    string
	Inputs  Props
	Options Options
}

// Options are the resource options of programs. A zero option is inherited from the parent.
type Options struct {
	// Parent is another child under which this one lies; nil for the component itself, and in a program for the stack.
	Parent *Child
	// Provider manages the resource: a child whose type is pulumi:providers:<package>.
	Provider *Child
	// Providers are the providers that a component's children use, at most one for each package.
	Providers []*Child
	DependsOn []*Child
	// DeletedWith is a child whose deletion deletes the resource, too.
	DeletedWith *Child
	// ReplaceWith are children whose replacement replaces the resource.
	ReplaceWith []*Child

	Protect             *bool
	RetainOnDelete      *bool
	DeleteBeforeReplace *bool
	// IgnoreChanges, ReplaceOnChanges, and HideDiffs are paths of properties.
	IgnoreChanges           []string
	ReplaceOnChanges        []string
	HideDiffs               []string
	AdditionalSecretOutputs []string
	// Aliases are earlier names of the resource.
	Aliases []abi.Alias
	// Timeouts are in seconds.
	Timeouts abi.CustomTimeouts
	// ImportID adopts the existing object with this ID instead of creating one.
	ImportID string
	// Version is the package's version; empty for any.
	Version string
	// Package is the reference from [Deployment.Package]; empty for none.
	Package string
	// ReplacementTrigger replaces the resource when it changes. See [ValueOf].
	ReplacementTrigger any
	Hooks              []abi.HookBinding
}

// Child is a resource that a program or component declared or read. It is for [Field], and for the options and
// inputs of other children.
type Child struct {
	d    *Deployment
	typ  string
	name string
	// cell is settled when made is set; its value is null.
	cell *eventual.Cell
	made made
	// custom resources have IDs.
	custom bool
}

// made is a child that exists, or will in a preview.
type made struct {
	urn          urn.URN
	id           string
	state        property.Map
	dependencies []abi.PropertyDependency
	// missing is set if it failed or was left out, and the program goes on.
	missing bool
}

func (c *Child) source() *eventual.Cell { return c.field(nil) }

// URN returns the child's URN.
func (c *Child) URN() Out[string] { return Field[string](c, "urn") }

// ID returns the ID of a child that is not a component; of others it is null.
func (c *Child) ID() Out[string] { return Field[string](c, "id") }

// dependsOn returns v as an output that depends on the child and on the sources of the named output.
func (c *Child) dependsOn(v property.Value, name string) property.Value {
	urns := []string{string(c.made.urn)}
	for _, d := range c.made.dependencies {
		if name == "" || d.Key == name {
			for _, u := range d.URNs {
				urns = append(urns, string(u))
			}
		}
	}
	return property.OutputOf(property.Output{Value: v, Dependencies: urns})
}

// field returns the cell of a part of the child's outputs, of all for no path.
func (c *Child) field(p property.Path) *eventual.Cell {
	return derived([]*eventual.Cell{c.cell}, func([]property.Value) (*eventual.Cell, error) {
		if len(p) == 0 {
			v := property.Object(c.made.state)
			if c.made.missing {
				v = property.Unknown
			}
			return eventual.Of(c.dependsOn(v, "")), nil
		}
		name, _ := p[0].Key()
		switch {
		case name == "urn" && len(p) == 1:
			return eventual.Of(c.dependsOn(property.String(string(c.made.urn)), name)), nil
		case name == "id" && len(p) == 1:
			return eventual.Of(c.dependsOn(c.id(), name)), nil
		}
		v, ok := c.made.state.Lookup(name)
		if !ok && c.d.preview || c.made.missing {
			v = property.Unknown
		}
		v, _ = p[1:].Get(v)
		return eventual.Of(c.dependsOn(v, name)), nil
	})
}

func (c *Child) id() property.Value {
	switch {
	case !c.custom:
		return property.Null
	case c.made.id == "": // in a preview, or because it failed
		return property.Unknown
	}
	return property.String(c.made.id)
}

// reference returns the cell of a resource reference to the child.
func (c *Child) reference() *eventual.Cell {
	return derived([]*eventual.Cell{c.cell}, func([]property.Value) (*eventual.Cell, error) {
		reference := property.Reference(property.ResourceReference{
			URN: string(c.made.urn), HasID: c.custom, ID: c.made.id,
		})
		return eventual.Of(c.dependsOn(reference, "")), nil
	})
}

// children returns the children that the options refer to.
func (o *Options) children() []*Child {
	all := []*Child{o.Parent, o.Provider, o.DeletedWith}
	all = append(all, o.Providers...)
	all = append(all, o.DependsOn...)
	return append(all, o.ReplaceWith...)
}

// resolve returns the monitor's options, once the children that they refer to are made.
func (o *Options) resolve(trigger property.Value) abi.ResourceOptions {
	options := abi.ResourceOptions{
		Protect: o.Protect, RetainOnDelete: o.RetainOnDelete, DeleteBeforeReplace: o.DeleteBeforeReplace,
		IgnoreChanges: o.IgnoreChanges, ReplaceOnChanges: o.ReplaceOnChanges, HideDiffs: o.HideDiffs,
		AdditionalSecretOutputs: o.AdditionalSecretOutputs, Aliases: o.Aliases, CustomTimeouts: o.Timeouts,
		ImportID: o.ImportID, Version: o.Version, PackageRef: o.Package, Hooks: o.Hooks,
		Dependencies: urnsOf(o.DependsOn), ReplaceWith: urnsOf(o.ReplaceWith),
	}
	if o.Provider != nil {
		options.Provider = o.Provider.made.reference()
	}
	for _, p := range o.Providers {
		options.Providers = append(options.Providers, abi.PackageProvider{
			Package: packageOf(p.typ), Reference: p.made.reference(),
		})
	}
	if o.DeletedWith != nil {
		options.DeletedWith = o.DeletedWith.made.urn
	}
	if trigger = trigger.Lower(property.KindOutput); !trigger.IsNull() {
		options.ReplacementTrigger = &trigger
	}
	return options
}

func urnsOf(children []*Child) []urn.URN {
	var urns []urn.URN
	for _, c := range children {
		urns = append(urns, c.made.urn)
	}
	return urns
}

// reference returns the provider reference of a child. In a preview its ID is empty.
func (m *made) reference() string { return string(m.urn) + "::" + m.id }

// packageOf returns the package that a provider, by its type, is for.
func packageOf(providerType string) string {
	for i := len(providerType) - 1; i >= 0; i-- {
		if providerType[i] == ':' {
			return providerType[i+1:]
		}
	}
	return providerType
}

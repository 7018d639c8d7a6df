package enginetest

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Chain registers a -> b -> c, each with the computed property of the one before. key is the input of a
// that may need a replacement.
func Chain(typ, key string) Program {
	return func(p *Run) error {
		a, err := p.Custom(typ, "a", Props("key", key))
		if err != nil {
			return err
		}
		b, err := p.Custom(typ, "b", Props("key", a.Out("made")))
		if err != nil {
			return err
		}
		c, err := p.Custom(Plain, "c", Props("from", b.Out("made")))
		if err != nil {
			return err
		}
		return p.Outputs(Props("made", c.Out("made")))
	}
}

// Empty registers nothing.
func Empty(*Run) error { return nil }

// One registers one resource.
func One(inputs property.Map, options ...func(*abi.ResourceOptions)) Program {
	return func(p *Run) error {
		_, err := p.Custom(Plain, "a", inputs, options...)
		return err
	}
}

// AliasName returns an earlier name of a resource.
func AliasName(name string) abi.Alias {
	return abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: name}}
}

package program

import (
	"encoding/base64"
	"encoding/json"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program/source"
)

// Parameterization makes a provider another package, or serve one more: words, or the result that it made of them.
type Parameterization struct {
	// Args are words, as they are written: only the provider knows which of them are paths. A
	// mapping is the JSON of it.
	Args []string
	// Name and Version belong to the package that Value makes, empty with words.
	Name    string
	Version string
	// Value holds bytes that only the provider understands.
	Value []byte
}

// Parameters is the parameterization as providers take it; nil for none.
func (p *Parameterization) Parameters() *abi.Parameters {
	switch {
	case p == nil:
		return nil
	case p.Version == "":
		return &abi.Parameters{Case: abi.ParametersCaseArgs, Args: p.Args}
	}
	return &abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: p.Name, Version: p.Version, Value: p.Value}}
}

// parameterizationKey returns the key of words, or of {name: ..., version: ..., value: base64}.
func (d *decoder) parameterizationKey(key string, at **Parameterization) source.Key {
	return source.KeyOf(key, at, func(n *yaml.Node) (*Parameterization, bool) {
		if n.Kind == yaml.MappingNode {
			return d.parameterValue(key, n)
		}
		if n.Kind != yaml.SequenceNode && !source.IsNull(n) {
			d.Errorf(n, "%s must be a list of words, or a mapping with a version and a value, not %s", key, source.Describe(n))
			return nil, false
		}
		p, ok := &Parameterization{}, true
		for _, e := range d.Elements(n, key) {
			text, isWord := d.word(e)
			p.Args, ok = append(p.Args, text), ok && isWord
		}
		if len(p.Args) == 0 {
			p = nil
		}
		return p, ok
	})
}

// word returns a parameter as providers take it: a text, or the JSON of a mapping.
func (d *decoder) word(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.MappingNode {
		return d.Text(n, "a parameter")
	}
	var value any
	err := n.Decode(&value)
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err != nil {
		d.Errorf(n, "a parameter is a text, or a mapping that JSON can hold: %v", err)
	}
	return string(text), err == nil
}

func (d *decoder) parameterValue(key string, n *yaml.Node) (*Parameterization, bool) {
	p := &Parameterization{}
	ok := d.Read(n, key,
		d.TextKey("name", &p.Name, "the name of what the "+key+" make"),
		d.versionKey(&p.Version, "the version of what the "+key+" make", semver.Parse),
		source.KeyOf("value", &p.Value, func(n *yaml.Node) ([]byte, bool) {
			text, ok := d.Text(n, "the value of the "+key)
			value, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				d.Errorf(n, "the value of the %s is not base64; husk package add writes it", key)
			}
			return value, ok && err == nil
		}),
	)
	if ok && (p.Version == "" || p.Value == nil) {
		d.Errorf(n, "the %s need a version and a value, which husk package add writes, or a list of words", key)
		ok = false
	}
	return p, ok
}

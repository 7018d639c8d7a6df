package yamlcode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/expr"
)

// literals writes values so that the program computes them again.
type literals struct{ from *referable }

// errSecret is the error for a value that must not be in the text of a program.
var errSecret = errors.New("it is a secret")

// value writes the value of a property. Secrets are written as references, or not at all.
func (l *literals) value(key string, v property.Value) (*yaml.Node, error) {
	switch v.Kind() {
	case property.KindNull:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case property.KindBool:
		b, _ := v.AsBool()
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}, nil
	case property.KindNumber:
		return number(v)
	case property.KindString:
		s, _ := v.AsString()
		if found := l.from.find(key, s); found != nil {
			return found, nil
		}
		return text(escape(s)), nil
	case property.KindSecret:
		if s, ok := v.Unwrap().AsString(); ok {
			if found := l.from.find(key, s); found != nil {
				return found, nil
			}
		}
		return nil, errSecret
	case property.KindArray:
		elements, _ := v.AsArray()
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range elements {
			n, err := l.value(key, e)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, n)
		}
		return out, nil
	case property.KindObject:
		return l.object(v)
	case property.KindAsset:
		a, _ := v.AsAsset()
		return asset(a)
	case property.KindArchive:
		a, _ := v.AsArchive()
		return l.archive(a)
	case property.KindResourceReference:
		ref, _ := v.AsReference()
		return nil, fmt.Errorf("it is a reference to %s, whose name only the program knows", ref.URN)
	default:
		return nil, fmt.Errorf("a value of the kind %v cannot be written in YAML", v.Kind())
	}
}

func number(v property.Value) (*yaml.Node, error) {
	f, _ := v.AsNumber()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("a number that is not finite cannot be written in YAML")
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: strconv.FormatFloat(f, 'e', -1, 64)}
	if v.IsInteger() && !(f == 0 && math.Signbit(f)) {
		n.Tag, n.Value = "!!int", strconv.FormatFloat(f, 'f', -1, 64)
	} else if short := strconv.FormatFloat(f, 'g', -1, 64); strings.ContainsAny(short, ".e") {
		n.Value = short
	}
	return n, nil
}

func (l *literals) object(v property.Value) (*yaml.Node, error) {
	m, _ := v.AsObject()
	out := mapping()
	for _, key := range m.Keys() {
		if expr.IsFunction(key) {
			return nil, fmt.Errorf("the key %q would be taken for a function", key)
		}
		n, err := l.value(key, m.Get(key))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, text(escape(key)), n)
	}
	return out, nil
}

// errNamed is the error for a file that the provider would have the program read with the rights of its user.
func errNamed(f expr.Function, place string) error {
	return fmt.Errorf("the provider has named %.200q: write %s with it if that is meant", place, f)
}

var errHashOnly = errors.New("only the hash of an asset or archive is known here: write its contents, path, or URL")

func call(f expr.Function, argument *yaml.Node) *yaml.Node { return mapping(f.String(), argument) }

func asset(a property.Asset) (*yaml.Node, error) {
	switch a.Source {
	case property.SourcePath:
		return nil, errNamed(expr.FileAsset, a.Path)
	case property.SourceURI:
		return nil, errNamed(expr.RemoteAsset, a.URI)
	case property.SourceText:
		return call(expr.StringAsset, text(escape(a.Text))), nil
	default:
		return nil, errHashOnly
	}
}

func (l *literals) archive(a property.Archive) (*yaml.Node, error) {
	switch a.Source {
	case property.SourcePath:
		return nil, errNamed(expr.FileArchive, a.Path)
	case property.SourceURI:
		return nil, errNamed(expr.RemoteArchive, a.URI)
	case property.SourceAssets:
		members, err := l.object(property.Object(a.Assets))
		if err != nil {
			return nil, err
		}
		return call(expr.AssetArchive, members), nil
	default:
		return nil, errHashOnly
	}
}

// escape makes text stand for itself where ${...} is an expression and $$ a dollar sign.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '$' && i+1 < len(s) && (s[i+1] == '$' || s[i+1] == '{') {
			b.WriteByte('$')
		}
	}
	return b.String()
}

// text writes a string. Only ordinary text, which reads back as it was, is a block of lines.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !strings.Contains(s, "\n") {
		return n
	}
	n.Style = yaml.LiteralStyle
	for _, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if line != strings.TrimSpace(line) && line != strings.TrimRight(line, " \t\r") || line == "" || strings.ContainsFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	if strings.HasPrefix(s, " ") || strings.HasSuffix(s, "\n\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, text(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}

package source

import (
	"math"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"go.yaml.in/yaml/v3"
)

// Scalar returns null, a truth value, a number, or text. It reports what no property can hold.
func (r *Report) Scalar(n *yaml.Node) (property.Value, bool) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return property.Null, true
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return property.Bool(b), true
		}
		r.Errorf(n, "this is not a truth value; write true or false")
	case "!!int":
		return r.integer(n)
	case "!!float":
		if !strings.ContainsAny(n.Value, ".eE") { // too long for an integer
			return r.integer(n)
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return property.Number(f), true
		}
		r.Errorf(n, "this is not a number that a property can hold; quote it if it is text")
	case "!!str", "!!timestamp":
		return property.String(n.Value), true
	default:
		r.Errorf(n, "the YAML tag %s has no meaning here; remove it", tag)
	}
	return property.Null, false
}

func (r *Report) integer(n *yaml.Node) (property.Value, bool) {
	var i int64
	if n.Decode(&i) == nil {
		if v := property.Number(float64(i)); v.IsInteger() {
			return v, true
		}
	}
	r.Errorf(n, "this number is larger than 2^53 and would lose digits; quote it to keep it as text")
	return property.Null, false
}

// Value returns the value of a node, in which ${...} is text. It reports what no property can hold.
func (r *Report) Value(n *yaml.Node) (property.Value, bool) {
	n = Resolve(n)
	switch n.Kind {
	case yaml.SequenceNode:
		elements, all := make([]property.Value, len(n.Content)), true
		for i, e := range n.Content {
			v, ok := r.Value(e)
			elements[i], all = v, all && ok
		}
		return property.Array(elements...), all
	case yaml.MappingNode:
		fields, all := r.Fields(n, "an object"), true
		entries := make([]property.Entry, len(fields))
		for i, f := range fields {
			v, ok := r.Value(f.Value)
			entries[i], all = property.Entry{Key: f.Name, Value: v}, all && ok
		}
		return property.Object(property.NewMap(entries...)), all
	default:
		return r.Scalar(n)
	}
}

// FormatNumber returns a number as JSON writes it.
func FormatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

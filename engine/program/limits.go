package program

import (
	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// Limit is a limit that a project sets, of one provider or of all. Which there are, and what
// their values mean, is the host's matter.
type Limit struct {
	// Name and Value are as they are written, for example memory and 512MiB.
	Name, Value string
	Position    source.Position
}

// limits reads limits: {NAME: VALUE}.
func (d *decoder) limits(n *yaml.Node) []Limit {
	var limits []Limit
	for _, f := range d.Fields(n, "limits") {
		value := source.Resolve(f.Value)
		if value.Kind != yaml.ScalarNode || source.IsNull(value) {
			d.Errorf(f.Value, "the limit %s is to be a number, a size such as 512MiB, or a time such as 90s", f.Name)
			continue
		}
		limits = append(limits, Limit{Name: f.Name, Value: value.Value, Position: source.Of(f.Key)})
	}
	return limits
}

package yamlprogram

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// stackReference returns an output of another stack: fn::stackReference, which
// Pulumi YAML has kept from before stack references were resources.
func (e *evaluator) stackReference(c *expr.Call, args []property.Value) (property.Value, bool) {
	var p provenance
	stack, stackKnown := p.flatten(args[0])
	output, outputKnown := p.flatten(args[1])
	if e.static {
		e.c.report.Warnf(c.Node(), "%s is deprecated: declare a resource of type %s", c.Function, builtin.StackReference)
	}
	plain := []property.Value{stack, output}
	for i, what := range [...]string{"the stack", "the output"} {
		if plain[i].IsUnknown() {
			continue
		}
		if _, problem := textArg(plain, i, what); problem != nil {
			e.errorf(c.Args[i], "%s: %s", c.Function, problem.message)
			return property.Null, false
		}
	}
	if e.static || !stackKnown || !outputKnown {
		return p.wrap(property.Unknown), true
	}
	response, err := e.monitor.Invoke(e.ctx, abi.MonitorInvokeRequest{
		Token:   builtin.ReadStackOutputs,
		Args:    property.NewMap(property.Entry{Key: "name", Value: stack}),
		Options: abi.FunctionOptions{DependsOn: p.distinct()},
	})
	if err != nil {
		e.errorf(c.Args[0], "%s: %v", c.Function, err)
		return property.Null, false
	}
	if response.Unknown {
		return p.wrap(property.Unknown), true
	}
	outputs, _ := response.Result.Get("outputs").AsObject()
	name, _ := output.AsString()
	v, ok := outputs.Lookup(name)
	if !ok {
		e.errorf(c.Args[1], "%s: the stack has no output %q%s", c.Function, name, source.DidYouMean(name, outputs.Keys()))
		return property.Null, false
	}
	return p.wrap(p.peel(v)), true
}

package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// A preview is settled if its update would write nothing, and call nothing that is told of a preview. Each row is a small change
// that an update must write, or a call that it must make.
func TestPreviewsThatAreSettled(t *testing.T) {
	type row struct {
		// options, inputs, and outputs are of the resource a, and the stack's.
		options func(o *abi.ResourceOptions, owner enginetest.Resource)
		inputs  property.Map
		outputs property.Map
		more    func(p *enginetest.Run) error
		edit    func(*enginetest.Deployment)
		// before changes the state or the objects.
		before func(*enginetest.Stack)
		// settled is what the preview must say, and same says that the update leaves the state as it was.
		settled, same, impure bool
	}
	option := func(set func(o *abi.ResourceOptions, owner enginetest.Resource)) row { return row{options: set} }
	invoke := func(p *enginetest.Run) error {
		_, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:find"})
		return err
	}
	for name, r := range map[string]row{
		"nothing":                   {settled: true, same: true},
		"a refresh without a drift": {settled: true, same: true, edit: func(d *enginetest.Deployment) { d.RefreshFirst = true }},

		"dependsOn":   option(func(o *abi.ResourceOptions, owner enginetest.Resource) { o.Dependencies = []urn.URN{owner.URN} }),
		"protect":     option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.Protect = new(true) }),
		"retain":      option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.RetainOnDelete = new(true) }),
		"deletedWith": option(func(o *abi.ResourceOptions, owner enginetest.Resource) { o.DeletedWith = owner.URN }),
		"replaceWith": option(func(o *abi.ResourceOptions, owner enginetest.Resource) { o.ReplaceWith = []urn.URN{owner.URN} }),
		"ignored":     option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.IgnoreChanges = []string{"other"} }),
		"replaced":    option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.ReplaceOnChanges = []string{"other"} }),
		"secrets":     option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.AdditionalSecretOutputs = []string{"key"} }),
		"timeouts":    option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.CustomTimeouts.Delete = 5 }),
		"hidden":      option(func(o *abi.ResourceOptions, _ enginetest.Resource) { o.HideDiffs = []string{"key"} }),
		"trigger": option(func(o *abi.ResourceOptions, _ enginetest.Resource) {
			first := property.String("1")
			o.ReplacementTrigger = &first
		}),
		"alias":               {options: func(*abi.ResourceOptions, enginetest.Resource) {}, before: renamedA},
		"a secret input":      {inputs: enginetest.Props("key", property.Secret(property.String("1")))},
		"an input":            {inputs: enginetest.Props("key", "2")},
		"an input of another": {inputs: enginetest.Props("key", property.OutputOf(property.Output{Value: property.String("1"), Dependencies: []string{"urn:pulumi:dev::proj::" + enginetest.Plain + "::owner"}}))},
		"an output":           {outputs: enginetest.Props("out", "2")},
		"a secret output":     {outputs: enginetest.Props("out", property.Secret(property.String("1")))},
		"a resource": {more: func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "new", enginetest.Props())
			return err
		}},
		"a component": {more: func(p *enginetest.Run) error {
			_, err := p.Component(enginetest.Group, "new", enginetest.Props())
			return err
		}},
		"a taint": {before: func(s *enginetest.Stack) { s.Change("a", func(res *state.Resource) { res.Taint = true }) }},
		"an unhealthy creation": {before: func(s *enginetest.Stack) {
			s.Change("a", func(res *state.Resource) { res.InitErrors = []string{"slow"} })
		}},
		"an old copy": {before: func(s *enginetest.Stack) { s.Double("a", true, false) }},
		"a drift": {
			before: func(s *enginetest.Stack) {
				s.Cloud.Change(s.Resource("a").ID, func(p property.Map) property.Map { return p.With("key", property.String("9")) })
			},
			edit: func(d *enginetest.Deployment) { d.RefreshFirst = true },
		},
		"another version of the provider": {before: func(s *enginetest.Stack) { s.Cloud.Digest = "sha256:other" }},

		"a function, which is told of previews": {same: true, more: invoke},
		"a program that may ask":                {same: true, impure: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) { return abi.InvokeResponse{}, nil }
			program := func(r row) engine.Program {
				declared := enginetest.Program(func(p *enginetest.Run) error {
					owner, err := p.Custom(enginetest.Plain, "owner", enginetest.Props())
					inputs, outputs := r.inputs, r.outputs
					if inputs.Len() == 0 {
						inputs = enginetest.Props("key", "1")
					}
					if outputs.Len() == 0 {
						outputs = enginetest.Props("out", "1")
					}
					_, errA := p.Custom(enginetest.Plain, "a", inputs, func(o *abi.ResourceOptions) {
						o.Aliases = []abi.Alias{enginetest.AliasName("before")}
						if r.options != nil {
							r.options(o, owner)
						}
					})
					err = errors.Join(err, errA)
					if r.more != nil {
						err = errors.Join(err, r.more(p))
					}
					return errors.Join(err, p.Outputs(outputs))
				})
				if r.impure {
					return declared
				}
				return enginetest.Pure{Program: declared}
			}
			s.Up(program(row{}).(enginetest.Pure).Program)
			if r.before != nil {
				r.before(s)
			}
			s.Edit = r.edit
			before := s.Recorded()
			result, err := s.Try(enginetest.Preview, program(r))
			require.NoError(t, err)
			require.Equal(t, r.settled, result.Settled)
			_, err = s.Try(enginetest.Up, program(r))
			require.NoError(t, err)
			if after := s.Recorded(); r.same {
				require.Equal(t, before, after)
			} else {
				require.NotEqual(t, before, after)
			}
		})
	}
}

// renamedA has the resource a recorded by an earlier name.
func renamedA(s *enginetest.Stack) {
	s.Change("a", func(res *state.Resource) { res.URN = urn.New("dev", "proj", res.Parent, res.Type, "before") })
}

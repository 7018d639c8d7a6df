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

// A trigger replaces when it changes, whatever is secret about it; null is none.
func TestReplacementTrigger(t *testing.T) {
	text, number := property.String("1"), property.Number(1)
	cases := []struct {
		name          string
		before, after property.Value
		replaces      bool
	}{
		{"the same", text, text, false},
		{"another", text, property.String("2"), true},
		{"another type", text, number, true},
		{"it appears", property.Null, text, false},
		{"it disappears", text, property.Null, false},
		{"it becomes secret", text, property.Secret(text), false},
		{"it comes from a resource", text, property.OutputOf(property.Output{Value: text}), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			program := func(v property.Value) enginetest.Program {
				return enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ReplacementTrigger = &v })
			}
			s.Up(program(c.before))
			want := 0
			if c.replaces {
				want = 1
			}
			require.Equal(t, want, s.Preview(program(c.after)).Replace)
			require.Equal(t, want, s.Up(program(c.after)).Replace)
			require.Equal(t, 0, s.Up(program(c.after)).Total())
		})
	}
}

func TestUnknownReplacementTriggerReplacesInAPreview(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	known := property.String("1")
	s.Up(enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ReplacementTrigger = &known }))
	unknown := enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ReplacementTrigger = &property.Unknown })
	require.Equal(t, 1, s.Preview(unknown).Replace)
	_, err := s.Try(enginetest.Up, unknown)
	require.ErrorContains(t, err, "the replacement trigger is not known")
}

func TestTaintedResourceIsReplacedOnce(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Change("a", func(res *state.Resource) { res.Taint = true })
	require.Equal(t, engine.Changes{Same: 2, Update: 1, Replace: 1}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
	require.Equal(t, map[string]string{"a": "it is tainted"}, reasons(s))
	require.Zero(t, s.Up(enginetest.Chain(enginetest.Plain, "1")).Total())
}

func TestReplacementCanBeAskedFor(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{engine.Pattern(s.Resource("b").URN)} }
	require.Equal(t, engine.Changes{Same: 2, Update: 1, Replace: 1}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
	require.Equal(t, map[string]string{"b": "its replacement was asked for"}, reasons(s))
}

// withOne registers a and, with options that name it, b.
func withOne(typ, key string, options func(a enginetest.Resource) enginetest.OptionsOf) enginetest.Program {
	return func(p *enginetest.Run) error {
		a, err := p.Custom(typ, "a", enginetest.Props("key", key))
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), options(a))
		return err
	}
}

// A resource goes with what it is replaced with, or deleted with: afterwards, or
// ahead of it where the old one is deleted first.
func TestReplacedWithAnother(t *testing.T) {
	options := map[string]func(a enginetest.Resource) enginetest.OptionsOf{
		"replaceWith": func(a enginetest.Resource) enginetest.OptionsOf {
			return func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{a.URN} }
		},
		"deletedWith": func(a enginetest.Resource) enginetest.OptionsOf {
			return func(o *abi.ResourceOptions) { o.DeletedWith = a.URN }
		},
	}
	want := map[string][]string{
		"replaceWith " + enginetest.Strict: {"create a", "create b", "delete b-2", "delete a-1"},
		"replaceWith " + enginetest.Single: {"delete b-2", "delete a-1", "create a", "create b"},
		"deletedWith " + enginetest.Strict: {"create a", "create b", "delete a-1"},
		"deletedWith " + enginetest.Single: {"delete a-1", "create a", "create b"},
	}
	for option, set := range options {
		for _, typ := range []string{enginetest.Strict, enginetest.Single} {
			t.Run(option+" "+typ, func(t *testing.T) {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				s.Up(withOne(typ, "1", set))
				s.Cloud.Calls()
				changes := engine.Changes{Same: 1, Replace: 2}
				require.Equal(t, changes, s.Preview(withOne(typ, "2", set)))
				require.Equal(t, changes, s.Up(withOne(typ, "2", set)))
				require.Equal(t, want[option+" "+typ], s.Cloud.Calls())
				require.Zero(t, s.Up(withOne(typ, "2", set)).Total())
			})
		}
	}
}

func TestOptionsNameRegisteredResources(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	nowhere := urn.New("dev", "proj", "", enginetest.Plain, "nowhere")
	for _, option := range []enginetest.OptionsOf{
		func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{nowhere} },
		func(o *abi.ResourceOptions) { o.DeletedWith = nowhere },
		func(o *abi.ResourceOptions) { o.Dependencies = []urn.URN{nowhere} },
	} {
		_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props(), option))
		require.ErrorContains(t, err, string(nowhere)+" is not registered")
	}
}

// What is deleted ahead of its replacement takes along only those that could not
// live on: asked with unknowns in place of what would change.
func TestDependentReplacements(t *testing.T) {
	yes := true
	program := func(key string, b enginetest.OptionsOf, bInputs func(a enginetest.Resource) property.Map) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			typ := enginetest.Strict
			if b == nil {
				b, typ = func(*abi.ResourceOptions) {}, enginetest.Plain
			}
			_, err = p.Custom(typ, "b", bInputs(a), func(o *abi.ResourceOptions) {
				o.Dependencies = []urn.URN{a.URN}
				b(o)
			})
			return err
		}
	}
	none := func(*abi.ResourceOptions) {}
	from := func(key string) func(a enginetest.Resource) property.Map {
		return func(a enginetest.Resource) property.Map { return enginetest.Props(key, a.Out("made")) }
	}
	cases := []struct {
		name    string
		options enginetest.OptionsOf
		inputs  func(a enginetest.Resource) property.Map
		want    []string
	}{
		{"an input that replaces it", none, from("key"), []string{"delete b-2", "delete a-1", "create a", "create b"}},
		{"an input that does not", none, from("size"), []string{"delete a-1", "create a", "update b"}},
		{"no input", none, func(enginetest.Resource) property.Map { return enginetest.Props() }, []string{"delete a-1", "create a"}},
		{"an input that replaces it by option", func(o *abi.ResourceOptions) { o.ReplaceOnChanges = []string{"size"} },
			from("size"), []string{"delete b-2", "delete a-1", "create a", "create b"}},
		{"an ignored input", func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{"key"} },
			from("key"), []string{"delete a-1", "create a"}},
		{"a retained one", func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes },
			from("key"), []string{"delete a-1", "create a", "create b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program("1", c.options, c.inputs))
			s.Cloud.Calls()
			s.Up(program("2", c.options, c.inputs))
			require.Equal(t, c.want, s.Cloud.Calls())
			require.Zero(t, s.Up(program("2", c.options, c.inputs)).Total())
		})
	}
}

// A provider that is configured from what is deleted goes with it if its provider
// says so, and then so do its resources.
func TestDependentProviderIsReplaced(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = enginetest.ReplacedByRegion
	s := enginetest.NewStack(t, cloud)
	program := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", a.Out("made")))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
			return err
		}
	}
	s.Up(program("1"))
	s.Cloud.Calls()
	s.Up(program("2"))
	require.Equal(t, []string{"delete b-2", "delete a-1", "create a", "create b"}, s.Cloud.Calls())
	require.Zero(t, s.Up(program("2")).Total())
}

func TestProtectedDependentStopsTheReplacement(t *testing.T) {
	yes := true
	program := func(key string) enginetest.Program {
		return withOne(enginetest.Single, key, func(a enginetest.Resource) enginetest.OptionsOf {
			return func(o *abi.ResourceOptions) { o.DeletedWith, o.Protect = a.URN, &yes }
		})
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program("1"))
	s.Cloud.Calls()
	_, err := s.Try(enginetest.Up, program("2"))
	require.ErrorContains(t, err, "protected")
	require.Empty(t, s.Cloud.Calls())
	s.Edit = func(d *enginetest.Deployment) { d.IgnoreProtect = true }
	require.Equal(t, 2, s.Up(program("2")).Replace)
	s.Destroy()
	require.Zero(t, s.Snapshot().Len())
}

// A resource that failed half way is replaced where the program says so of its
// failures.
func TestReplaceOnInitError(t *testing.T) {
	for _, pattern := range []string{"#initerror", "*"} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Cloud.Hook = func(string) error {
			return &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: "a-9", State: enginetest.Props(), Reasons: []string{"no"}}}
		}
		program := enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ReplaceOnChanges = []string{pattern} })
		_, err := s.Try(enginetest.Up, program)
		require.Error(t, err)
		s.Cloud.Hook = nil
		require.Equal(t, 1, s.Up(program).Replace, pattern)
		require.Empty(t, s.Resource("a").InitErrors)
	}
}

// A provider can have a resource replaced although no property asks for it, which is no difference to show.
func TestReplacementOfAnUnfinishedCreation(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(string) error {
		return &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: "a-9", State: enginetest.Props(), Reasons: []string{"no"}}}
	}
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"__meta"}, HasDetailedDiff: true}, nil
	}
	program := enginetest.One(enginetest.Props())
	_, err := s.Try(enginetest.Up, program)
	require.Error(t, err)
	s.Cloud.Hook = nil
	require.Equal(t, 1, s.Up(program).Replace)
	require.Equal(t, map[string]string{"a": "its last creation or update did not finish well"}, reasons(s))
}

func TestLegacyDiffLooksAtInputsFirst(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	asked := 0
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		asked++
		return abi.DiffResponse{Changes: abi.DiffChangesSome}, nil
	}
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	require.Equal(t, 1, s.Up(enginetest.One(enginetest.Props("size", 1))).Update)
	s.Edit = func(d *enginetest.Deployment) { d.LegacyDiff = true }
	asked = 0
	require.Equal(t, 0, s.Up(enginetest.One(enginetest.Props("size", 1))).Update)
	require.Zero(t, asked)
	require.Equal(t, 1, s.Up(enginetest.One(enginetest.Props("size", 2))).Update)
}

// A provider that cannot tell leaves it to the inputs, whatever is secret in them.
func TestUnknownDiffComparesInputs(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	require.Equal(t, 0, s.Up(enginetest.One(enginetest.Props("size", property.Secret(property.Number(1))))).Total())
	require.Equal(t, 1, s.Up(enginetest.One(enginetest.Props("size", 2))).Update)
}

func TestComponentThatBecomesAResourceIsReplaced(t *testing.T) {
	program := func(custom bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Plain, Name: "a", Custom: custom})
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program(false))
	require.Equal(t, 1, s.Up(program(true)).Replace)
	require.Equal(t, 1, s.Cloud.Objects())
	require.Equal(t, 1, s.Up(program(false)).Replace)
	require.Zero(t, s.Cloud.Objects())
}

// Check sees the old inputs, so that it can keep what it generated, but not those
// of a resource that is about to be made anew.
func TestCheckTwiceOnReplacement(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	var olds []bool
	s.Cloud.Check = func(req abi.CheckRequest) (abi.CheckResponse, error) {
		olds = append(olds, req.Olds != nil)
		return abi.CheckResponse{Inputs: req.News}, nil
	}
	program := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			return err
		}
	}
	s.Up(program("1"))
	require.Equal(t, []bool{false}, olds, "a creation")
	olds = nil
	s.Up(program("1"))
	require.Equal(t, []bool{true}, olds, "no change")
	olds = nil
	s.Cloud.Hook = func(call string) error {
		if call == "create a" {
			return errors.New("no quota")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, program("2"))
	require.Error(t, err)
	require.Equal(t, []bool{true, false}, olds, "a replacement")
	olds, s.Cloud.Hook = nil, nil
	s.Up(program("2"))
	require.Equal(t, []bool{false}, olds, "one that waits to be made")
}

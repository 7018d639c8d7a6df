package resources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// nest is inputs that take every form of a property path: root.nested["key with
// \"quotes\""][0], and elements that wildcards match.
func nest(first string, ports ...int) property.Map {
	quoted := enginetest.Props(`key with "quotes"`, property.Array(property.String(first)))
	rules := make([]property.Value, len(ports))
	for i, port := range ports {
		rules[i] = property.Object(enginetest.Props("port", port, "name", "rule"))
	}
	return enginetest.Props("root", property.Object(enginetest.Props("nested", property.Object(quoted))), "rules", property.Array(rules...))
}

const quotedPath = `root.nested["key with \"quotes\""][0]`

func nested(inputs property.Map, option func(*abi.ResourceOptions)) enginetest.Program {
	return func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", inputs, option)
		return err
	}
}

func ignoring(paths ...string) func(*abi.ResourceOptions) {
	return func(o *abi.ResourceOptions) { o.IgnoreChanges = paths }
}

func replacing(paths ...string) func(*abi.ResourceOptions) {
	return func(o *abi.ResourceOptions) { o.ReplaceOnChanges = paths }
}

func hiding(paths ...string) func(*abi.ResourceOptions) {
	return func(o *abi.ResourceOptions) { o.HideDiffs = paths }
}

func TestPathsOfIgnoreChanges(t *testing.T) {
	for name, c := range map[string]struct {
		option  func(*abi.ResourceOptions)
		changed property.Map
		want    property.Map // as it is after
	}{
		"none":            {ignoring(), nest("y", 1, 2), nest("y", 1, 2)},
		"a quoted key":    {ignoring(quotedPath), nest("y", 1, 3), nest("x", 1, 3)},
		"what is around":  {ignoring("root"), nest("y", 1, 2), nest("x", 1, 2)},
		"all elements":    {ignoring("rules[*].port"), nest("y", 8, 9), nest("y", 1, 2)},
		"one element":     {ignoring("rules[1].port"), nest("x", 8, 9), nest("x", 8, 2)},
		"all properties":  {ignoring("root.*"), nest("y", 1, 2), nest("x", 1, 2)},
		"the whole thing": {ignoring(quotedPath, "rules"), nest("y", 9), nest("x", 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(nested(nest("x", 1, 2), c.option))
			s.Up(nested(c.changed, c.option))
			require.Equal(t, property.Object(c.want).String(), property.Object(s.Resource("a").Inputs).String())
		})
	}
}

func TestPathsOfReplaceOnChanges(t *testing.T) {
	for name, c := range map[string]struct {
		option   func(*abi.ResourceOptions)
		replaces bool
	}{
		"another":        {replacing("rules"), false},
		"a quoted key":   {replacing(quotedPath), true},
		"another key":    {replacing(`root.nested["key with quotes"]`), false},
		"what is around": {replacing("root"), true},
		"all properties": {replacing("root.nested.*"), true},
		"all elements":   {replacing(`root.nested["key with \"quotes\""][*]`), true},
		"everything":     {replacing("*"), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(nested(nest("x", 1), c.option))
			want := engine.Changes{Same: 1, Update: 1}
			if c.replaces {
				want = engine.Changes{Same: 1, Replace: 1}
			}
			require.Equal(t, want, s.Up(nested(nest("y", 1), c.option)))
		})
	}
}

// What a provider says differs is shown at its path, unless it is hidden.
func TestPathsOfDetailedDiffsAndHideDiffs(t *testing.T) {
	quoted := engine.PropertyChange{Path: quotedPath, Kind: "update", Old: `"x"`, New: `"y"`}
	port := engine.PropertyChange{Path: "rules[0].port", Kind: "update", Old: "1", New: "2"}
	for name, c := range map[string]struct {
		option func(*abi.ResourceOptions)
		shown  []engine.PropertyChange
	}{
		"nothing hidden": {hiding(), []engine.PropertyChange{quoted, port}},
		"a quoted key":   {hiding(quotedPath), []engine.PropertyChange{port}},
		"all elements":   {hiding("rules[*].port"), []engine.PropertyChange{quoted}},
		"what is around": {hiding("rules", "root.nested"), nil},
		"something else": {hiding("rules[*].name", "nested"), []engine.PropertyChange{quoted, port}},
		"everything":     {hiding("*"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(nested(nest("x", 1), c.option))
			require.Equal(t, 1, s.Up(nested(nest("y", 2), c.option)).Update, "hidden changes are made")
			var shown []engine.PropertyChange
			for _, e := range s.Events() {
				if done, ok := e.(engine.StepDone); ok && done.Step.Name == "a" {
					shown = done.Step.Diff
				}
			}
			require.Equal(t, c.shown, shown)
		})
	}
}

// Outputs that are secret are named, as in Pulumi: a name may have any letters.
func TestNamesOfAdditionalSecretOutputs(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(nested(enginetest.Props(`a "b".c`, 1, "a", property.Object(enginetest.Props("c", 2))), func(o *abi.ResourceOptions) {
		o.AdditionalSecretOutputs = []string{`a "b".c`, "a.c"}
	}))
	outputs := s.Resource("a").Outputs
	require.True(t, outputs.Get(`a "b".c`).IsSecret())
	require.False(t, outputs.Get("a").ContainsSecrets())
}

// Inputs that a provider refuses are told of at their path.
func TestPathsOfCheckFailures(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Types[enginetest.Plain] = enginetest.Type{Required: []string{quotedPath}}
	s := enginetest.NewStack(t, cloud)
	_, err := s.Try(enginetest.Up, nested(enginetest.Props(), ignoring()))
	require.ErrorContains(t, err, quotedPath+": missing required property")
}

// A path of ignoreChanges that leads nowhere is told, and no more.
func TestPathOfIgnoreChangesThatLeadsNowhere(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	ignoring := func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{"a.b"} }
	s.Up(enginetest.One(enginetest.Props("a", property.Object(enginetest.Props("b", 1))), ignoring))
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(enginetest.One(enginetest.Props("a", "text"), ignoring)))
	var told []string
	for _, e := range s.Events() {
		if d, ok := e.(engine.Diagnostic); ok && d.Severity == "info" {
			told = append(told, d.Message)
		}
	}
	require.Equal(t, []string{"ignoreChanges: the old and the new inputs do not both have a place for a.b"}, told)
}

package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// The tests of this file are about values, in situations that users of other engines reported: engine-tests.md has the list.

// The tests of this file are situations that users of other engines reported, told in engine-tests.md.

// object and list make properties of properties.
func object(pairs ...any) property.Value { return property.Object(enginetest.Props(pairs...)) }

func list(values ...property.Value) property.Value { return property.Array(values...) }

// pod are inputs as those of a workload in a cluster have them: what is ignored stands deep in them.
func pod(image, name string, replicas int) property.Map {
	container := object("image", image, "name", name)
	return enginetest.Props(
		"metadata", object("annotations", object("example.org/owner.team", image, "example", object("org/owner.team", name))),
		"spec", object("replicas", replicas, "containers", list(container)),
	)
}

// A key with dots is one key where it is quoted.
func TestIgnoredKeyWithDots(t *testing.T) {
	option := ignoring(`metadata.annotations["example.org/owner.team"]`, `spec["containers"][0].image`)
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(pod("one", "n", 1), option))
	require.Equal(t, engine.Changes{Same: 2}, s.Up(enginetest.One(pod("two", "n", 1), option)))
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(enginetest.One(pod("two", "m", 1), option)))
	require.Equal(t, pod("one", "m", 1), s.Resource("a").Inputs)
}

// What drifted and is ignored is recorded by a refresh, and kept by the updates after it, whatever else they change.
func TestDriftOfAnIgnoredNestedProperty(t *testing.T) {
	for _, path := range []string{"spec.containers[0].image", "spec.containers[*].image", "spec.containers[0]", "spec.containers"} {
		option := ignoring(path, "metadata")
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.One(pod("one", "n", 1), option))
		s.Cloud.Change("a-1", func(m property.Map) property.Map {
			return pod("two", "n", 1).With("metadata", m.Get("metadata")).With("made", m.Get("made"))
		})
		s.Refresh()
		require.Equal(t, engine.Changes{Same: 2}, s.Preview(enginetest.One(pod("one", "n", 1), option)), path)
		require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(enginetest.One(pod("one", "n", 2), option)), path)
		spec := s.Cloud.Snapshot()["a-1"].Get("spec")
		require.Equal(t, object("replicas", 2, "containers", list(object("image", "two", "name", "n"))), spec, path)
	}
}

// A property that becomes secret as a whole, or a part of one that does, is shown nowhere, nor is what it was before.
func TestSecretsThatMove(t *testing.T) {
	secret := func(v property.Value) property.Value { return property.Secret(v) }
	part := func(token property.Value) property.Map {
		return enginetest.Props("auth", object("user", "me", "token", token), "list", list(token))
	}
	plain := property.String("hunter2")
	steps := []property.Map{
		part(secret(plain)),
		enginetest.Props("auth", secret(object("user", "me", "token", plain)), "list", secret(list(plain))),
		enginetest.Props("auth", secret(object("user", "me", "token", "hunter3")), "list", list(secret(property.String("hunter3")))),
		part(secret(property.String("hunter4"))),
		enginetest.Props("auth", object("user", "me"), "list", list()),
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	for _, inputs := range steps {
		program := func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Plain, "a", inputs)
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("auth", a.Out("auth"), "list", a.Out("list")))
			return errors.Join(err, p.Outputs(enginetest.Props("auth", a.Out("auth"))))
		}
		for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
			_, err := s.Try(run, enginetest.Program(program))
			require.NoError(t, err)
			for _, e := range s.Events() {
				require.NotContains(t, jsonOf(t, e), "hunter")
			}
		}
		for _, name := range []string{"a", "b"} {
			for _, key := range []string{"auth", "list"} {
				recorded := s.Resource(name).Inputs.Get(key)
				if name == "a" {
					require.True(t, inputs.Get(key).Equal(recorded), "%s: %s", key, property.Display(recorded))
				}
				require.Equal(t, inputs.Get(key).ContainsSecrets(), recorded.ContainsSecrets(), name)
				require.Equal(t, inputs.Get(key).ContainsSecrets(), s.Resource(name).Outputs.Get(key).ContainsSecrets(), name)
			}
		}
	}
}

// Outputs that the program calls secret are secret in previews, in differences, and in what takes them.
func TestSecretOutputsInDifferences(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key int) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.AdditionalSecretOutputs = []string{"made"} })
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("from", a.Out("made")))
			return errors.Join(err, p.Outputs(enginetest.Props("made", a.Out("made"))))
		}
	}
	run := func(operation enginetest.Operation, key int) {
		t.Helper()
		_, err := s.Try(operation, program(key))
		require.NoError(t, err)
		for _, e := range s.Events() {
			require.NotContains(t, jsonOf(t, e), "made of")
		}
	}
	run(enginetest.Preview, 1)
	run(enginetest.Up, 1)
	require.True(t, s.Resource("b").Inputs.Get("from").IsSecret())
	run(enginetest.Preview, 2)
	run(enginetest.Up, 2)
	s.Cloud.Change(s.Resource("a").ID, func(m property.Map) property.Map { return m.With("made", property.String("made of something else")) })
	run(enginetest.PreviewRefresh, 2)
	run(enginetest.Refresh, 2)
	run(enginetest.Preview, 2)
	run(enginetest.Up, 2)
	require.True(t, s.Resource("a").Outputs.Get("made").IsSecret())
	require.True(t, s.Resource("proj-dev").Outputs.Get("made").IsSecret())
	run(enginetest.Destroy, 2)
}

// A password that nobody can read is missing in what is imported. A program that has it sets it, and replaces nothing.
func TestImportOfWhatCannotBeReadWhole(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Types[enginetest.Strict] = enginetest.Type{Required: []string{"password"}, Replace: []string{"key"}, Computed: []string{"made"}}
	s := enginetest.NewStack(t, cloud)
	existing(s, "x-1", "key", "one")
	importing(s, engine.ImportTarget{Type: enginetest.Strict, Name: "a", ID: "x-1"})
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Contains(t, s.Warnings()[0], "password: missing required property")
	s.Edit = nil
	program := func(password string, options ...enginetest.OptionsOf) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", "one", "password", property.Secret(property.String(password))), options...)
			return err
		}
	}
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(program("hunter2")))
	require.Zero(t, s.Up(program("hunter2")).Total())
	require.Zero(t, s.Up(program("hunter3", ignoring("password"))).Total())
	require.Equal(t, []string{"x-1"}, s.Cloud.IDs())
}

package resources_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// existing puts an object into the cloud that no stack knows.
func existing(s *enginetest.Stack, id string, pairs ...any) {
	s.Cloud.Change(id, func(property.Map) property.Map {
		return enginetest.Props(pairs...).With("made", property.String("elsewhere"))
	})
}

// importing imports the targets in what is run next.
func importing(s *enginetest.Stack, targets ...engine.ImportTarget) {
	s.Edit = func(d *enginetest.Deployment) { d.Imports = targets }
}

var rootURN = urn.New("dev", "proj", "", urn.RootType, "proj-dev")

// Objects are taken over with the inputs that they have, below the stack and below one
// another. A program that says the same finds nothing to do.
func TestImport(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	existing(s, "x-1", "key", "one", "password", property.Secret(property.String("hush")))
	existing(s, "x-2", "key", "two")
	home := urn.New("dev", "proj", rootURN, enginetest.Group, "home")
	importing(s,
		engine.ImportTarget{Type: enginetest.Plain, Name: "child", ID: "x-2", Parent: home, Protect: true},
		engine.ImportTarget{Type: enginetest.Plain, Name: "a", ID: "x-1"},
		engine.ImportTarget{Type: enginetest.Group, Name: "home", Component: true})
	preview, err := s.Try(enginetest.PreviewImport, nil)
	require.NoError(t, err)
	require.Zero(t, s.Snapshot().Len(), "a preview records nothing")
	require.Equal(t, enginetest.Props("key", "two"), preview.Imported[0].Inputs)

	result, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, preview.Changes, result.Changes)
	require.ElementsMatch(t, []string{"create proj-dev", "create home", "import a", "import child"}, s.Steps())
	require.Empty(t, s.Cloud.Calls(), "the objects themselves are not touched")
	child, a := s.Resource("child"), s.Resource("a")
	require.Equal(t, child.URN, result.Imported[0].URN)
	require.Equal(t, child.Inputs, result.Imported[0].Inputs)
	require.Equal(t, home, child.Parent)
	require.True(t, child.Protect)
	require.False(t, a.Protect)
	require.Equal(t, []string{"x-1", "x-1"}, []string{a.ID, a.ImportID})
	require.True(t, a.Outputs.Get("password").IsSecret())
	require.Equal(t, rootURN, a.Parent)

	again, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Zero(t, again.Changes.Total(), "what is there stays")
	s.Edit = nil
	require.Zero(t, s.Up(func(p *enginetest.Run) error {
		home, err := p.Component(enginetest.Group, "home", enginetest.Props())
		if err != nil {
			return err
		}
		yes := true
		_, err = p.Child(home.URN, enginetest.Plain, "child", enginetest.Props("key", "two"), func(o *abi.ResourceOptions) { o.Protect = &yes })
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "a", enginetest.Props("key", "one", "password", property.Secret(property.String("hush"))))
		return err
	}).Total())
}

// An imported resource may name its provider. Without, it has that of its parent, as if
// a program had registered it there.
func TestImportChoosesTheProvider(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", "north"))
		if err != nil {
			return err
		}
		use := func(o *abi.ResourceOptions) { o.Provider = own.Reference() }
		if _, err = p.Custom(enginetest.Plain, "parent", enginetest.Props(), use); err != nil {
			return err
		}
		group, err := p.Component(enginetest.Group, "group", enginetest.Props(), func(o *abi.ResourceOptions) {
			o.Providers = []abi.PackageProvider{{Package: "test", Reference: own.Reference()}}
		})
		if err != nil {
			return err
		}
		_, err = p.Child(group.URN, enginetest.Plain, "part", enginetest.Props())
		return err
	})
	own, parent := s.Resource("own"), s.Resource("parent")
	existing(s, "x-1")
	importing(s,
		engine.ImportTarget{Type: enginetest.Plain, Name: "named", ID: "x-1", Provider: own.URN},
		engine.ImportTarget{Type: enginetest.Plain, Name: "below", ID: "x-1", Parent: parent.URN},
		engine.ImportTarget{Type: enginetest.Plain, Name: "beside", ID: "x-1", Parent: s.Resource("group").URN})
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	for _, name := range []string{"named", "below", "beside"} {
		require.Equal(t, own.Reference(), s.Resource(name).Provider, name)
	}
	require.Nil(t, s.Resource("default"), "no other is needed")
}

// A component whose parts have several providers says nothing of the one of a further part.
func TestImportBelowAComponentOfSeveralProviders(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		group, err := p.Component(enginetest.Group, "group", enginetest.Props())
		if err != nil {
			return err
		}
		for _, name := range []string{"one", "other"} {
			own, err := p.Custom(enginetest.ProviderType, name, enginetest.Props("region", name))
			if err != nil {
				return err
			}
			use := func(o *abi.ResourceOptions) { o.Provider = own.Reference() }
			if _, err = p.Child(group.URN, enginetest.Plain, name+" part", enginetest.Props(), use); err != nil {
				return err
			}
		}
		return nil
	})
	existing(s, "x-1")
	importing(s, engine.ImportTarget{Type: enginetest.Plain, Name: "beside", ID: "x-1", Parent: s.Resource("group").URN})
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, s.Resource("default").Reference(), s.Resource("beside").Provider)
}

// Only the inputs that are asked for are kept.
func TestImportOfSomeProperties(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	existing(s, "x-1", "key", "one", "size", 3)
	importing(s, engine.ImportTarget{Type: enginetest.Plain, Name: "a", ID: "x-1", Properties: []string{"key", "keye"}})
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, enginetest.Props("key", "one"), s.Resource("a").Inputs)
	require.Equal(t, property.Number(3), s.Resource("a").Outputs.Get("size"))
	require.Equal(t, []string{`the object has no input "keye" to import`}, s.Warnings())
}

// Inputs that the provider told and would refuse are imported all the same.
func TestImportOfInputsThatAreRefused(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Types[enginetest.Plain] = enginetest.Type{Required: []string{"size"}, Computed: []string{"made"}}
	existing(s, "x-1", "key", "one")
	importing(s, engine.ImportTarget{Type: enginetest.Plain, Name: "a", ID: "x-1"})
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, enginetest.Props("key", "one"), s.Resource("a").Inputs)
	require.Len(t, s.Warnings(), 1)
	require.Contains(t, s.Warnings()[0], "size: missing required property")
}

// What another tool knows of an object is what its provider begins with, and dependencies come first.
func TestImportOfWhatIsKnown(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	var read []abi.ReadRequest
	var mu sync.Mutex
	s.Cloud.Read = func(r abi.ReadRequest) (abi.ReadResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		read = append(read, r)
		if r.ID == "gone" {
			return abi.ReadResponse{}, nil
		}
		return abi.ReadResponse{ID: r.ID, State: r.State.With("made", property.String("now"))}, nil
	}
	u := func(name string) urn.URN { return urn.New("dev", "proj", rootURN, enginetest.Plain, name) }
	outputs, inputs := enginetest.Props("key", "one", "made", "then"), enginetest.Props("key", "one")
	known := func(name, id string, after ...urn.URN) engine.ImportTarget {
		return engine.ImportTarget{Type: enginetest.Plain, Name: name, ID: id, State: &outputs, Inputs: &inputs, Dependencies: after}
	}
	importing(s, known("second", "none", u("first")), known("first", "none"))
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, []string{read[0].URN.Name(), read[1].URN.Name()})
	require.Equal(t, outputs, *read[0].State)
	require.Equal(t, inputs, *read[0].Inputs)
	second := s.Resource("second")
	require.Equal(t, inputs, second.Inputs)
	require.Equal(t, enginetest.Props("key", "one", "made", "now"), second.Outputs)
	require.Equal(t, []urn.URN{u("first")}, second.Dependencies)

	importing(s, known("third", "gone"))
	_, err = s.Try(enginetest.Import, nil)
	require.ErrorContains(t, err, `no test:index:Plain with ID "gone" exists any more: refresh the state that it comes from`)
	importing(s, known("third", "none", u("nowhere")))
	_, err = s.Try(enginetest.Import, nil)
	require.ErrorContains(t, err, "it depends on "+string(u("nowhere"))+", which is neither in the stack nor imported")
	importing(s, known("third", "none", u("fourth")), known("fourth", "none", u("third")))
	_, err = s.Try(enginetest.Import, nil)
	require.ErrorContains(t, err, "it depends on "+string(u("fourth"))+", which waits for something, too: maybe they depend on one another")
}

func TestImportRefuses(t *testing.T) {
	u := func(name string) urn.URN { return urn.New("dev", "proj", rootURN, enginetest.Plain, name) }
	a := engine.ImportTarget{Type: enginetest.Plain, Name: "a", ID: "x-1"}
	for name, c := range map[string]struct {
		targets []engine.ImportTarget
		edit    func(c *enginetest.Cloud)
		want    string
	}{
		"an object that does not exist": {
			[]engine.ImportTarget{{Type: enginetest.Plain, Name: "a", ID: "x-9"}}, nil, `no test:index:Plain with ID "x-9" exists`},
		"what the provider cannot tell the inputs of": {[]engine.ImportTarget{a}, func(c *enginetest.Cloud) {
			c.Read = func(r abi.ReadRequest) (abi.ReadResponse, error) { return abi.ReadResponse{ID: r.ID}, nil }
		}, "does not support importing test:index:Plain"},
		"what cannot be read": {[]engine.ImportTarget{a}, func(c *enginetest.Cloud) {
			c.Read = func(abi.ReadRequest) (abi.ReadResponse, error) { return abi.ReadResponse{}, errors.New("no way") }
		}, "no way"},
		"unknown values": {[]engine.ImportTarget{a}, func(c *enginetest.Cloud) {
			c.Read = func(r abi.ReadRequest) (abi.ReadResponse, error) {
				inputs := enginetest.Props("key", property.Unknown)
				return abi.ReadResponse{ID: r.ID, Inputs: &inputs}, nil
			}
		}, "unknown values"},
		"another object of a name that is taken": {
			[]engine.ImportTarget{{Type: enginetest.Plain, Name: "there", ID: "x-1"}}, nil, `has one of that name already, with the ID "there-`},
		"one thing twice":             {[]engine.ImportTarget{a, a}, nil, `test:index:Plain "a" is imported twice`},
		"a parent that is nowhere":    {[]engine.ImportTarget{{Type: enginetest.Plain, Name: "a", ID: "x-1", Parent: u("no")}}, nil, "neither in the stack nor imported"},
		"parents of one another":      {[]engine.ImportTarget{{Type: enginetest.Plain, Name: "a", ID: "x-1", Parent: u("a")}}, nil, "neither in the stack nor imported"},
		"a provider":                  {[]engine.ImportTarget{{Type: enginetest.ProviderType, Name: "a", ID: "x-1"}}, nil, "only what providers make"},
		"an object without an ID":     {[]engine.ImportTarget{{Type: enginetest.Plain, Name: "a"}}, nil, "an object has an ID"},
		"a component with an ID":      {[]engine.ImportTarget{{Type: enginetest.Group, Name: "a", ID: "x", Component: true}}, nil, "a component has none"},
		"a provider that is nowhere":  {[]engine.ImportTarget{{Type: enginetest.Plain, Name: "a", ID: "x-1", Provider: u("p")}}, nil, "the stack has no provider"},
		"a type that cannot be named": {[]engine.ImportTarget{{Type: "plain", Name: "a", ID: "x-1"}}, nil, "invalid resource type"},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(func(p *enginetest.Run) error {
				_, err := p.Custom(enginetest.Plain, "there", enginetest.Props())
				return err
			})
			before := s.Snapshot().Len()
			existing(s, "x-1", "key", "one")
			if c.edit != nil {
				c.edit(s.Cloud)
			}
			importing(s, c.targets...)
			_, err := s.Try(enginetest.Import, nil)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, before, s.Snapshot().Len())
			require.Zero(t, countOperations(s.Snapshot()))
		})
	}
}

func countOperations(s *state.Snapshot) (n int) {
	for range s.Operations() {
		n++
	}
	return n
}

// What an import that was cut off has not recorded, the next one records.
func TestImportThatWasCutOff(t *testing.T) {
	for n, more := 1, true; more; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		existing(s, "x-1", "key", "one")
		home := urn.New("dev", "proj", rootURN, enginetest.Group, "home")
		importing(s, engine.ImportTarget{Type: enginetest.Group, Name: "home", Component: true},
			engine.ImportTarget{Type: enginetest.Plain, Name: "a", ID: "x-1", Parent: home})
		more = s.CrashAt(n, n%2 == 0, enginetest.Import, nil)
		_, err := s.Try(enginetest.Import, nil)
		require.NoError(t, err)
		require.Equal(t, "x-1", s.Resource("a").ID)
		require.Zero(t, countOperations(s.Snapshot()))
	}
}

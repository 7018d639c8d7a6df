package resources_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// requireRecorded requires that each object of the cloud is recorded once, and that each
// recorded resource exists.
func requireRecorded(t *testing.T, s *enginetest.Stack) {
	t.Helper()
	var ids []string
	for _, res := range s.Snapshot().Resources() {
		if res.Custom && !res.IsProvider() {
			ids = append(ids, res.ID)
		}
	}
	require.ElementsMatch(t, s.Cloud.IDs(), ids)
}

// A replacement that makes the object over itself does not delete it, whatever it is
// replaced for.
func TestReplacementByItselfIsNotDeleted(t *testing.T) {
	again := files(enginetest.File, "rw", "f", "x")
	for name, test := range map[string]struct {
		program enginetest.Program
		prepare func(*enginetest.Stack)
		edit    func(*enginetest.Deployment)
	}{
		"asked for": {program: again, edit: func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**::f"} }},
		"tainted": {program: again, prepare: func(s *enginetest.Stack) {
			s.Change("f", func(res *state.Resource) { res.Taint = true })
		}},
		"changed": {program: files(enginetest.File, "ro", "f", "x")},
		"replaceOnChanges": {program: func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.File, "f", enginetest.Props("path", "x", "mode", "rw", "content", "new"), func(o *abi.ResourceOptions) {
				o.ReplaceOnChanges = []string{"content"}
			})
			return err
		}},
		"triggered": {program: func(p *enginetest.Run) error {
			trigger := property.Number(2)
			_, err := p.Custom(enginetest.File, "f", enginetest.Props("path", "x", "mode", "rw"), func(o *abi.ResourceOptions) { o.ReplacementTrigger = &trigger })
			return err
		}, prepare: func(s *enginetest.Stack) {
			s.Change("f", func(res *state.Resource) { res.ReplacementTrigger = property.Number(1) })
		}},
		"created first by the program's wish": {program: func(p *enginetest.Run) error {
			no := false
			_, err := p.Custom(enginetest.Declared, "f", enginetest.Props("path", "x", "mode", "ro"), func(o *abi.ResourceOptions) { o.DeleteBeforeReplace = &no })
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewFiles())
			first := enginetest.File
			if name == "created first by the program's wish" {
				first = enginetest.Declared
			}
			s.Up(files(first, "rw", "f", "x"))
			if test.prepare != nil {
				test.prepare(s)
			}
			s.Cloud.Calls()
			s.Edit = test.edit
			require.Equal(t, 1, s.Up(test.program).Replace)
			require.Equal(t, []string{"create f"}, s.Cloud.Calls())
			require.Len(t, s.Warnings(), 1)
			require.Contains(t, s.Warnings()[0], `the replacement has the ID of the resource that it replaces, "x"`)
			requireRecorded(t, s)
			s.Edit = nil
			require.Zero(t, s.Up(test.program).Total())
			s.Destroy()
			require.Empty(t, s.Cloud.IDs())
		})
	}
}

// Wherever a replacement by itself is cut off, the object exists in the end, and is recorded.
func TestReplacementByItselfSurvivesACrash(t *testing.T) {
	for _, typ := range []string{enginetest.File, enginetest.Declared} {
		for at := 1; ; at++ {
			s := enginetest.NewStack(t, enginetest.NewFiles())
			s.Up(files(typ, "rw", "f", "x"))
			if !s.CrashAt(at, at%2 == 0, enginetest.Up, files(typ, "ro", "f", "x")) {
				break
			}
			s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates, d.ClearPendingCreates = nil, true }
			s.Refresh()
			s.Edit = nil
			s.Up(files(typ, "ro", "f", "x"))
			require.Equal(t, []string{"x"}, s.Cloud.IDs(), "%s, crash at %d", typ, at)
			requireRecorded(t, s)
		}
	}
}

// An object whose identity the schema tells of is deleted before it is made again, for
// whatever reason, and made beside the old one if its identity changes.
func TestDeclaredIdentityIsDeletedFirst(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewFiles())
	s.Up(files(enginetest.Declared, "rw", "f", "x"))
	s.Cloud.Calls()
	s.Up(files(enginetest.Declared, "ro", "f", "x"))
	require.Equal(t, []string{"delete x", "create f"}, s.Cloud.Calls())
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**::f"} }
	s.Up(files(enginetest.Declared, "ro", "f", "x"))
	require.Equal(t, []string{"delete x", "create f"}, s.Cloud.Calls())
	// A pattern for all resources is for those of the program, and for no default provider.
	provider := s.Resource("f").Provider
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**"} }
	require.Equal(t, 1, s.Up(files(enginetest.Declared, "ro", "f", "x")).Total())
	require.Equal(t, []string{"delete x", "create f"}, s.Cloud.Calls())
	require.Equal(t, provider, s.Resource("f").Provider)
	s.Edit = nil
	s.Up(files(enginetest.Declared, "ro", "f", "y"))
	require.Equal(t, []string{"create f", "delete x"}, s.Cloud.Calls())
	require.Empty(t, s.Warnings())
	requireRecorded(t, s)
}

// The same holds if its provider is replaced by one with the same configuration.
func TestDeclaredIdentityIsDeletedFirstByALikeProvider(t *testing.T) {
	program := func(p *enginetest.Run) error {
		own, err := p.Custom("pulumi:providers:test", "own", enginetest.Props("region", "1"))
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Declared, "f", enginetest.Props("path", "x", "mode", "rw"), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
		return err
	}
	s := enginetest.NewStack(t, enginetest.NewFiles())
	s.Up(program)
	s.Cloud.Calls()
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**"} }
	s.Up(program)
	require.Equal(t, []string{"delete x", "create f"}, s.Cloud.Calls())
	require.Empty(t, s.Warnings())
	requireRecorded(t, s)
}

// An object that another resource stands for as well is not deleted while that one stays.
func TestObjectsThatAreStillWantedAreNotDeleted(t *testing.T) {
	t.Run("a resource with a new name and no alias", func(t *testing.T) {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(files(enginetest.File, "rw", "f", "x"))
		s.Up(files(enginetest.File, "rw", "g", "x"))
		require.Equal(t, []string{"create g", "delete f"}, s.Steps())
		require.Contains(t, s.Warnings()[0], `the object "x" is not deleted, since it is urn:pulumi:dev::proj::test:index:File::g as well`)
		requireRecorded(t, s)
	})
	t.Run("an object of two resources", func(t *testing.T) {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(files(enginetest.File, "rw", "f", "x", "g", "x"))
		s.Up(files(enginetest.File, "rw", "g", "x"))
		requireRecorded(t, s)
		s.Cloud.Calls()
		s.Up(files(enginetest.File, "rw", "f", "x", "g", "x"))
		s.Destroy()
		require.Empty(t, s.Cloud.IDs())
	})
	t.Run("the ID that stands for no object", func(t *testing.T) {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(files(enginetest.File, "rw", "f", "none", "g", "none"))
		s.Cloud.Calls()
		s.Up(files(enginetest.File, "rw", "g", "none"))
		require.Equal(t, []string{"delete none"}, s.Cloud.Calls())
		require.Empty(t, s.Warnings())
	})
	t.Run("there and back again", func(t *testing.T) {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(files(enginetest.File, "rw", "f", "x"))
		s.Cloud.Hook = func(call string) error {
			if call == "delete x" {
				return errors.New("busy")
			}
			return nil
		}
		_, err := s.Try(enginetest.Up, files(enginetest.File, "rw", "f", "y"))
		require.ErrorContains(t, err, "busy")
		s.Cloud.Hook = nil
		s.Up(files(enginetest.File, "rw", "f", "x"))
		require.Equal(t, []string{"x"}, s.Cloud.IDs())
		requireRecorded(t, s)
	})
	t.Run("what is read by another name", func(t *testing.T) {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(files(enginetest.File, "rw", "f", "x"))
		s.Up(func(p *enginetest.Run) error {
			_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: "x", Type: enginetest.File, Name: "g"})
			return err
		})
		require.Equal(t, []string{"x"}, s.Cloud.IDs())
	})
}

// Objects of providers that are configured otherwise are different ones, even if they have
// the same ID.
func TestSameIDElsewhereIsAnotherObject(t *testing.T) {
	cloud := enginetest.NewFiles()
	cloud.DiffConfig = enginetest.ReplacedByRegion
	s := enginetest.NewStack(t, cloud)
	program := func(region int) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.File, "f", enginetest.Props("path", "x"), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			return err
		}
	}
	s.Up(program(1))
	s.Cloud.Calls()
	s.Up(program(2))
	require.Equal(t, []string{"create f", "delete x"}, s.Cloud.Calls())
	require.Empty(t, s.Warnings())
}

// A provider with the same configuration under another reference knows the same objects.
func TestSameIDOfALikeProviderIsTheSameObject(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewFiles())
	program := func(version int, name string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.File, name, enginetest.Props("path", "x"), func(o *abi.ResourceOptions) { o.Version = fmt.Sprintf("%d.0.0", version) })
			return err
		}
	}
	s.Up(program(1, "f"))
	s.Up(program(2, "g"))
	require.Equal(t, []string{"x"}, s.Cloud.IDs())
}

// An object of several resources is deleted when no other resource is it any more: not while a hook keeps one of them.
func TestObjectOfSeveralResourcesGoesLast(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewFiles())
	program := files(enginetest.File, "rw", "f", "x", "g", "x", "h", "x")
	s.Up(program)
	s.Change("f", func(res *state.Resource) { res.ResourceHooks = map[string][]string{"before_delete": {"guard"}} })
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		return p.Monitor.(callback.Monitor).RegisterHook(callback.Hook{Name: "guard", Run: func(context.Context, callback.Step) error {
			return errors.New("not now")
		}})
	}))
	require.ErrorContains(t, err, "not now")
	require.Equal(t, []string{"x"}, s.Cloud.IDs())
	requireRecorded(t, s)

	s.Up(program)
	var recorded []string
	s.Cloud.Hook = func(string) error { recorded = append(recorded, ids(s)...); return nil }
	s.Up(enginetest.Empty)
	require.Empty(t, s.Cloud.IDs())
	require.Equal(t, 1, strings.Count(strings.Join(recorded, " "), "x"), "%v", recorded)
}

// What is deleted with one of several resources that are one object is deleted by itself, and before a replacement the object
// is deleted once, too.
func TestObjectOfSeveralResourcesIsDeletedOnce(t *testing.T) {
	program := func(owner int, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			first, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			var all []enginetest.Resource
			for _, name := range []string{"f", "g"} {
				f, err := p.Custom(enginetest.Declared, name, enginetest.Props("path", "x"), func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{first.URN} })
				if err != nil {
					return err
				}
				all = append(all, f)
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = all[owner].URN })
			return err
		}
	}
	for owner := range 2 {
		s := enginetest.NewStack(t, enginetest.NewFiles())
		s.Up(program(owner, "1"))
		s.Cloud.Calls()
		s.Up(program(owner, "2"))
		require.Equal(t, []string{"delete b", "delete x", "delete a"}, cut(slicesOf(s.Cloud.Calls(), "delete")))
		require.Zero(t, s.Up(program(owner, "2")).Total())
		s.Cloud.Calls()
		s.Destroy()
		require.Equal(t, []string{"delete b", "delete x", "delete a"}, cut(s.Cloud.Calls()))
	}
}

// A preview tells what an update does though a resource is read only at its registration, when the run has changed its object as another
// resource already.
func TestObjectThatTheRunHasChangedIsNotRead(t *testing.T) {
	program := func(mode, content string, after bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			e, errE := p.Custom(enginetest.Plain, "e", enginetest.Props())
			_, errF := p.Custom(enginetest.Declared, "f", enginetest.Props("path", "x", "mode", mode))
			_, errG := p.Custom(enginetest.Declared, "g", enginetest.Props("path", "x", "mode", "rw", "content", content), func(o *abi.ResourceOptions) {
				if after {
					o.Dependencies = []urn.URN{e.URN}
				}
			})
			return errors.Join(errE, errF, errG)
		}
	}
	cutOffAtG := func(s *enginetest.Stack) {
		s.Up(program("rw", "1", false))
		s.Cloud.Lost = func(call, _ string) error {
			if call == "update g" {
				return abi.NewError(abi.ErrorKindUnavailable, "no answer")
			}
			return nil
		}
		_, err := s.Try(enginetest.Up, program("rw", "2", false))
		require.ErrorContains(t, err, "no answer")
		s.Cloud.Lost = nil
	}
	for name, test := range map[string]struct {
		prepare func(*enginetest.Stack)
		edit    func(*enginetest.Deployment)
		want    []string
	}{
		"since the program shows that it is selected": {
			func(s *enginetest.Stack) { s.Up(program("rw", "1", true)) },
			func(d *enginetest.Deployment) {
				d.RefreshFirst, d.Selection = true, engine.Selection{Excludes: []engine.Pattern{"**::e"}, ExcludeDependents: true}
			},
			[]string{"update f", "delete-replaced f", "create-replacement f", "update g"}, // the refresh finds the first one
		},
		"since its update was cut off": {
			cutOffAtG,
			nil,
			[]string{"delete-replaced f", "create-replacement f", "update g"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewFiles())
			test.prepare(s)
			s.Edit = test.edit
			s.Preview(program("ro", "2", false))
			require.Equal(t, test.want, s.Steps())
			s.Up(program("ro", "2", false))
			require.Equal(t, test.want, s.Steps())
			require.Empty(t, maps.Collect(s.Snapshot().Operations()))
		})
	}

	// If this run leaves a resource alone with which an earlier run was cut off, the next run reads it.
	s := enginetest.NewStack(t, enginetest.NewFiles())
	cutOffAtG(s)
	s.Up(program("ro", "1", false))
	require.NotContains(t, s.Steps(), "update g")
	require.NotEmpty(t, maps.Collect(s.Snapshot().Operations()))
	s.Up(program("ro", "1", false))
	require.Contains(t, s.Steps(), "update g")
	require.Empty(t, maps.Collect(s.Snapshot().Operations()))
}

// A resource whose deletion ahead of a replacement was of no object is not being deleted once it reads that object.
func TestObjectThatIsReadAfterItsDeletionAhead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewFiles())
	program := func(mode string, read bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			root, err := p.Custom(enginetest.Declared, "root", enginetest.Props("path", "r", "mode", mode))
			if err != nil {
				return err
			}
			if read {
				_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: "x", Type: enginetest.Declared, Name: "user"})
				return err
			}
			_, err = p.Custom(enginetest.Declared, "user", enginetest.Props("path", "x", "mode", "rw"), func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{root.URN} })
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Declared, "z", enginetest.Props("path", "x", "mode", "rw"))
			return err
		}
	}
	s.Up(program("rw", false))
	s.Cloud.Calls()
	s.Up(program("ro", true))
	require.Contains(t, s.Steps(), "delete-replaced user")
	require.Contains(t, s.Steps(), "delete z")
	require.NotContains(t, s.Cloud.Calls(), "delete x")
}

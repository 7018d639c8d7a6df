package resources_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
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

// Of several reasons to replace a resource the first one is told.
func TestDiffPrecedence(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.DiffConfig = enginetest.ReplacedByRegion
	type change struct {
		trigger, taint, asked, with, deletedWith, provider, inputs bool
	}
	text := func(changed bool) string {
		if changed {
			return "2"
		}
		return "1"
	}
	program := func(c change) enginetest.Program {
		return func(p *enginetest.Run) error {
			base, errBase := p.Custom(enginetest.Strict, "base", enginetest.Props("key", text(c.with)))
			owner, errOwner := p.Custom(enginetest.Strict, "owner", enginetest.Props("key", text(c.deletedWith)))
			prov, errProv := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", text(c.provider)))
			trigger := property.String(text(c.trigger))
			_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", text(c.inputs)), func(o *abi.ResourceOptions) {
				o.Provider, o.ReplacementTrigger = prov.Reference(), &trigger
				o.ReplaceWith, o.DeletedWith = []urn.URN{base.URN}, owner.URN
			})
			return errors.Join(errBase, errOwner, errProv, err)
		}
	}
	s.Up(program(change{}))
	c := change{true, true, true, true, true, true, true}
	for _, step := range []struct {
		want string
		off  *bool
	}{
		{"its replacement trigger changed", &c.trigger},
		{"it is tainted", &c.taint},
		{"its replacement was asked for", &c.asked},
		{"owner, which it is deleted with, is replaced", &c.deletedWith},
		{"base, which it is replaced with, is replaced", &c.with},
		{"its provider changed", &c.provider},
		{"", &c.inputs},
	} {
		s.Change("a", func(res *state.Resource) { res.Taint = c.taint })
		s.Edit = func(d *enginetest.Deployment) {
			if c.asked {
				d.Replace = []engine.Pattern{engine.Pattern(s.Resource("a").URN)}
			}
		}
		s.Preview(program(c))
		got, replaced := reasons(s)["a"]
		require.True(t, replaced)
		require.Equal(t, step.want, got)
		*step.off = false
	}
	require.Zero(t, s.Preview(program(c)).Total())
}

func TestParentsAreRegisteredFirst(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Child(urn.New("dev", "proj", "", enginetest.Group, "later"), enginetest.Plain, "a", enginetest.Props())
		return err
	}))
	require.ErrorContains(t, err, "parent urn:pulumi:dev::proj::"+enginetest.Group+"::later is not registered")
}

// Children have the options of their parent that concern how they end, unless they
// say otherwise.
func TestChildrenInheritHowTheyEnd(t *testing.T) {
	yes, no := true, false
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		g, err := p.Component(enginetest.Group, "g", enginetest.Props(), func(o *abi.ResourceOptions) {
			o.Protect, o.RetainOnDelete, o.DeletedWith = &yes, &yes, a.URN
		})
		if err != nil {
			return err
		}
		_, errChild := p.Child(g.URN, enginetest.Plain, "child", enginetest.Props())
		_, errOther := p.Child(g.URN, enginetest.Plain, "other", enginetest.Props(), func(o *abi.ResourceOptions) { o.Protect, o.RetainOnDelete = &no, &no })
		return errors.Join(errChild, errOther)
	})
	child, other := s.Resource("child"), s.Resource("other")
	require.True(t, child.Protect && child.RetainOnDelete)
	require.Equal(t, s.Resource("a").URN, child.DeletedWith)
	require.False(t, other.Protect || other.RetainOnDelete)
}

func TestDefaultProviderIsNamedAfterItsVersion(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		var all sync.WaitGroup
		errs := make(chan error, 20)
		for _, name := range strings.Split("abcdefghij", "") {
			for _, version := range []string{"4.16.0", "5.0.0-beta"} {
				all.Go(func() {
					_, err := p.Custom(enginetest.Plain, name+version, enginetest.Props(), func(o *abi.ResourceOptions) { o.Version = version })
					errs <- err
				})
			}
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
	var names []string
	for _, res := range s.Snapshot().Resources() {
		if res.IsProvider() {
			names = append(names, res.URN.Name())
		}
	}
	require.ElementsMatch(t, []string{"default_4_16_0", "default_5_0_0_beta"}, names)
}

func TestCustomTimeoutsReachTheProvider(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	timeouts := make(map[string]float64)
	s.Edit = func(d *enginetest.Deployment) { d.Providers = timed{s.Cloud, timeouts} }
	program := func(size int) enginetest.Program {
		return enginetest.One(enginetest.Props("size", size), func(o *abi.ResourceOptions) {
			o.CustomTimeouts = abi.CustomTimeouts{Create: 1, Update: 2, Delete: 3, Read: 4}
		})
	}
	s.Up(program(1))
	s.Up(program(2))
	s.Refresh()
	s.Destroy()
	require.Equal(t, map[string]float64{"create": 1, "update": 2, "delete": 3, "read": 4}, timeouts)
}

// timed makes providers that note the timeouts of their methods.
type timed struct {
	*enginetest.Cloud
	timeouts map[string]float64
}

func (l timed) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := l.Cloud.Load(ctx, spec)
	return timedProvider{p, l.timeouts}, err
}

type timedProvider struct {
	abi.Provider
	timeouts map[string]float64
}

func (p timedProvider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	p.timeouts["create"] = req.Timeout
	return p.Provider.Create(ctx, req)
}

func (p timedProvider) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	p.timeouts["update"] = req.Timeout
	return p.Provider.Update(ctx, req)
}

func (p timedProvider) Delete(ctx context.Context, req abi.DeleteRequest) error {
	p.timeouts["delete"] = req.Timeout
	return p.Provider.Delete(ctx, req)
}

func (p timedProvider) Read(ctx context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	p.timeouts["read"] = req.Timeout
	return p.Provider.Read(ctx, req)
}

// Each option that the contract has is recorded when it changes, even if nothing else does, and an
// update that deviates from its plan in the option is refused: an option that has no row, or that the
// state or its encoding leaves out, fails here. Options that a registration uses up are named as such.
func TestAChangedOptionIsRecorded(t *testing.T) {
	usedUp := []string{
		"Provider", "Providers", "Version", "PackageRef", // they choose the recorded provider
		"Aliases", "ImportID", // they have an effect once
		"DeleteBeforeReplace", // a replacement goes by that of the program
		"Hooks",               // see TestHooksAroundSteps
	}
	options := reflect.TypeFor[abi.ResourceOptions]()
	for i := range options.NumField() {
		name := options.Field(i).Name
		if slices.Contains(usedUp, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			program := func(change func(*abi.ResourceOptions, urn.URN)) enginetest.Program {
				return func(p *enginetest.Run) error {
					first, err := p.Custom(enginetest.Plain, "first", enginetest.Props("x", 1))
					if err != nil {
						return err
					}
					_, err = p.Custom(enginetest.Plain, "a", enginetest.Props("x", 1), func(o *abi.ResourceOptions) { change(o, first.URN) })
					return err
				}
			}
			s.Up(program(func(*abi.ResourceOptions, urn.URN) {}))
			before := *s.Resource("a")
			changed := program(func(o *abi.ResourceOptions, first urn.URN) {
				setOption(t, reflect.ValueOf(o).Elem().Field(i), first)
			})
			if name != "HideDiffs" { // which is only about what is shown
				s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
				preview, err := s.Try(enginetest.Preview, program(func(*abi.ResourceOptions, urn.URN) {}))
				require.NoError(t, err)
				s.Edit = func(d *enginetest.Deployment) { d.Plan = preview.Plan }
				_, err = s.Try(enginetest.Up, changed)
				var deviation *engine.PlanError
				require.ErrorAs(t, err, &deviation)
				s.Edit = nil
			}
			s.Up(changed)
			after := *s.Resource("a")
			before.Modified = after.Modified
			require.NotEqual(t, before, after)
		})
	}
}

// setOption gives an option a value, whichever option it is.
func setOption(t *testing.T, option reflect.Value, first urn.URN) {
	t.Helper()
	yes, trigger := true, property.String("changed")
	switch option.Addr().Interface().(type) {
	case **bool:
		option.Set(reflect.ValueOf(&yes))
	case *[]string:
		option.Set(reflect.ValueOf([]string{"x"}))
	case *urn.URN:
		option.Set(reflect.ValueOf(first))
	case *[]urn.URN:
		option.Set(reflect.ValueOf([]urn.URN{first}))
	case **property.Value:
		option.Set(reflect.ValueOf(&trigger))
	case *abi.CustomTimeouts:
		option.Set(reflect.ValueOf(abi.CustomTimeouts{Create: 1}))
	default:
		t.Fatalf("the test has no value for an option of type %s", option.Type())
	}
}

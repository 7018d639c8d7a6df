package edit_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

// drawState draws a state that holds together: every resource names earlier ones only.
func drawState(t *rapid.T) *state.Snapshot {
	resources := []*state.Resource{{URN: root, Type: urn.RootType}, provider}
	for i := range rapid.IntRange(0, 10).Draw(t, "resources") {
		earlier := make([]urn.URN, 0, len(resources))
		for _, r := range resources {
			if !r.IsProvider() {
				earlier = append(earlier, r.URN)
			}
		}
		some := rapid.SliceOfN(rapid.SampledFrom(earlier), 0, 3)
		parent := rapid.SampledFrom(append(earlier, "")).Draw(t, "parent")
		r := custom("acme:net:Thing", fmt.Sprint("r", i), parent)
		switch rapid.SampledFrom([]string{"custom", "component", "pending", "provider"}).Draw(t, "kind") {
		case "component":
			r = &state.Resource{URN: r.URN, Type: r.Type, Parent: parent}
		case "pending":
			r.PendingReplacement = true
			r.Provider = rapid.SampledFrom([]string{r.Provider, "urn:pulumi:dev::shop::pulumi:providers:acme::gone::p9"}).Draw(t, "provider")
		case "provider":
			u := urn.New("dev", "shop", "", provider.Type, fmt.Sprint("r", i))
			r = &state.Resource{URN: u, Type: provider.Type, Custom: true, ID: r.ID, Dependencies: some.Draw(t, "dependencies")}
		}
		if r.Custom && !r.IsProvider() {
			providers := slices.DeleteFunc(slices.Clone(resources), func(r *state.Resource) bool { return !r.IsProvider() })
			if !r.PendingReplacement {
				r.Provider = rapid.SampledFrom(providers).Draw(t, "provider").Reference()
			}
			r.Dependencies = some.Draw(t, "dependencies")
			r.PropertyDependencies = map[string][]urn.URN{"p": some.Draw(t, "property dependencies")}
			r.ReplaceWith = some.Draw(t, "replaceWith")
			r.DeletedWith = rapid.SampledFrom(append(earlier, "")).Draw(t, "deletedWith")
			r.Protect = rapid.Bool().Draw(t, "protect")
			if rapid.Bool().Draw(t, "has an old copy") {
				resources = append(resources, with(r, func(r *state.Resource) { r.Delete, r.ID = true, "old" }))
			}
		}
		resources = append(resources, r)
	}
	s := state.NewSnapshot(resources...)
	s.Stack = dev.Qualified()
	return s
}

func drawURNs(t *rapid.T, s *state.Snapshot) []urn.URN {
	var all []urn.URN
	for _, r := range s.Resources() {
		all = append(all, r.URN)
	}
	return rapid.SliceOfN(rapid.SampledFrom(append(all, "urn:pulumi:dev::shop::a:b:C::none")), 1, 3).Draw(t, "URNs")
}

// TestEditsKeepStatesWhole: whatever edits are made of a state, it and the states that
// its resources are moved to hold together, no resource is lost that was not deleted,
// and what an edit is given stays as it is.
func TestEditsKeepStatesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, other := drawState(t), state.NewSnapshot()
		name, otherName := dev, state.StackName{Project: "shop", Name: "other"}
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			before := resourcesOf(s)
			total := count(s) + count(other)
			urns := drawURNs(t, s)
			next, nextOther, want := s, other, total
			var err error
			switch rapid.SampledFrom([]string{"delete", "rename", "rename stack", "move", "protect", "taint", "repair"}).Draw(t, "edit") {
			case "delete":
				next, err = edit.Delete(s, urns, edit.DeleteOptions{
					Protected: rapid.Bool().Draw(t, "protected"), Dependents: rapid.Bool().Draw(t, "dependents"),
				})
				want = -1
			case "rename":
				next, err = edit.Rename(s, urns[0], rapid.SampledFrom([]string{"r1", "new", "newer"}).Draw(t, "name"))
			case "rename stack":
				to := state.StackName{Project: "shop", Name: rapid.SampledFrom([]string{"dev", "prod"}).Draw(t, "stack")}
				if next, err = edit.RenameStack(s, name, to); err == nil {
					name = to
				}
			case "move":
				var moved *edit.Moved
				if moved, err = edit.Move(s, other, name, otherName, urns); err == nil {
					next, nextOther = moved.Source, moved.Target
				}
			case "protect":
				next, err = edit.Protect(s, urns, rapid.Bool().Draw(t, "protect"))
			case "taint":
				next, err = edit.Taint(s, urns, rapid.Bool().Draw(t, "taint"))
			case "repair":
				var done []string
				next, done, err = edit.Repair(s, edit.RepairOptions{})
				require.NoError(t, err)
				require.Empty(t, done)
			}
			require.Equal(t, before, resourcesOf(s), "what is given stays as it is")
			if err != nil {
				continue
			}
			require.NoError(t, next.Verify())
			require.NoError(t, nextOther.Verify())
			if want >= 0 {
				require.Equal(t, want, count(next)+count(nextOther))
			}
			s, other = next, nextOther
		}
	})
}

// count counts resources without the stack itself and providers, which a move copies.
func count(s *state.Snapshot) int {
	n := 0
	for _, r := range s.Resources() {
		if r.Type != urn.RootType && !r.IsProvider() {
			n++
		}
	}
	return n
}

// TestRepairLeavesOnlyWhatNeedsAPerson: of a state that lost any of its resources, and
// references of any, nothing remains broken.
func TestRepairLeavesOnlyWhatNeedsAPerson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for serial, r := range s.Resources() {
			switch rapid.SampledFrom([]string{"keep", "keep", "lose", "no provider", "component with ID"}).Draw(t, "damage") {
			case "lose":
				require.NoError(t, s.Apply(state.Entry{state.RemoveResource{Serial: serial}}))
			case "no provider":
				require.NoError(t, s.Apply(state.Entry{state.PutResource{Serial: serial,
					Resource: with(r, func(r *state.Resource) { r.Provider = "" })}}))
			case "component with ID":
				if !r.Custom {
					require.NoError(t, s.Apply(state.Entry{state.PutResource{Serial: serial,
						Resource: with(r, func(r *state.Resource) { r.ID = "x" })}}))
				}
			}
		}
		whole := s.Verify() == nil
		var options edit.RepairOptions
		for _, r := range s.Resources() {
			if _, ok := s.Graph().Provider(r.Provider); !ok && r.Provider != "" {
				if options.Providers == nil {
					options.Providers = make(map[string]string)
				}
				options.Providers[r.Provider] = edit.DefaultProvider
			}
		}
		repaired, done, err := edit.Repair(s, options)
		require.NoError(t, err)
		require.Equal(t, whole, len(done) == 0, "%v", done)
		require.Equal(t, count(s), count(repaired), "nothing is lost")
	})
}

package model_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// coy is a type whose previewed updates tell no computed output.
const coy = "test:index:Coy"

// unknownProgram is a program with a provider whose region is an output of a resource, and with resources of that
// provider: the shape of a cluster and its content. A second provider (Other) may be configured by one of those in turn.
type unknownProgram struct {
	// Base is the key of the resource, and Type its type; Note is the input that replaces nothing.
	Type       string
	Base, Note int
	// Fixed has the region not come from the resource.
	Fixed     bool
	Resources []modelResource
}

// answersOfDiffConfig are how providers decide whether a configuration can manage the objects of another.
var answersOfDiffConfig = map[string]func(abi.DiffRequest) (abi.DiffResponse, error){
	"compares": enginetest.ReplacedByRegion,
	"unimplemented": func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "no")
	},
	"cannot tell": func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	},
	"fails": func(r abi.DiffRequest) (abi.DiffResponse, error) {
		if r.News.ContainsUnknowns() {
			return abi.DiffResponse{Changes: abi.DiffChangesSome}, nil
		}
		return enginetest.ReplacedByRegion(r)
	},
	"waits": func(r abi.DiffRequest) (abi.DiffResponse, error) {
		if r.News.ContainsUnknowns() {
			return abi.DiffResponse{Changes: abi.DiffChangesNone}, nil
		}
		return enginetest.ReplacedByRegion(r)
	},
}

func (u unknownProgram) program() enginetest.Program {
	return func(p *enginetest.Run) error {
		base, err := p.Custom(u.Type, "base", enginetest.Props("key", u.Base, "note", u.Note))
		if err != nil {
			return err
		}
		region := base.Out("made")
		if u.Fixed {
			region = property.Number(float64(u.Base))
		}
		late, err := p.Custom(enginetest.ProviderType, "late", enginetest.Props("region", region))
		if err != nil {
			return err
		}
		made := make([]enginetest.Resource, len(u.Resources))
		m := modelProgram{Resources: u.Resources}
		var later enginetest.Resource
		for i, r := range u.Resources {
			if r.Other && later.URN == "" {
				first := made[slices.IndexFunc(u.Resources, func(r modelResource) bool { return r.Region })]
				if later, err = p.Custom(enginetest.ProviderType, "later", enginetest.Props("region", first.Out("made"))); err != nil {
					return err
				}
			}
			if made[i], err = m.register(p, r, made, func(o *abi.ResourceOptions) {
				r.options(o, made)
				switch {
				case r.Region:
					o.Provider = late.Reference()
				case r.Other:
					o.Provider = later.Reference()
				}
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

func drawUnknown(t *rapid.T, like *unknownProgram) unknownProgram {
	u := unknownProgram{
		Type: rapid.SampledFrom([]string{enginetest.Plain, enginetest.Strict, enginetest.Single, coy}).Draw(t, "base type"),
		Base: rapid.IntRange(0, 2).Draw(t, "base"), Note: rapid.IntRange(0, 1).Draw(t, "note"), Fixed: rapid.IntRange(0, 4).Draw(t, "fixed") == 4,
	}
	if like != nil {
		u.Type = like.Type
		u.Resources = slices.Clone(like.Resources)
		for i := range u.Resources {
			if rapid.IntRange(0, 2).Draw(t, "changes") == 2 {
				u.Resources[i].Key = rapid.IntRange(0, 2).Draw(t, "key")
			}
		}
		if n := len(u.Resources); n > 0 && rapid.IntRange(0, 4).Draw(t, "without the last") == 4 {
			u.Resources = u.Resources[:n-1]
		}
		return u
	}
	rarely := func(what string) bool { return rapid.IntRange(0, 4).Draw(t, what) == 4 }
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(modelNames[:5]), 0, 5, rapid.ID).Draw(t, "names")
	for i, name := range names {
		earlier := func(what string) []int {
			if i == 0 {
				return nil
			}
			return rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 2), rapid.ID).Draw(t, what)
		}
		r := modelResource{
			Name: name, Type: rapid.SampledFrom([]string{enginetest.Plain, enginetest.Strict, enginetest.Single, vague, coy}).Draw(t, "type"),
			Key: rapid.IntRange(0, 2).Draw(t, "key"), From: earlier("from"), After: earlier("after"),
			Region: !rarely("elsewhere"), DeleteFirst: rarely("delete first"), Retain: rarely("retain"),
		}
		if !r.Region && slices.ContainsFunc(u.Resources, func(r modelResource) bool { return r.Region }) {
			r.Other = rapid.Bool().Draw(t, "later")
		}
		if rarely("with") {
			r.With = earlier("with")
		}
		if i > 0 && rarely("owner") {
			r.Owner = rapid.IntRange(1, i).Draw(t, "owner")
		}
		u.Resources = append(u.Resources, r)
	}
	return u
}

// Whatever a preview does not know of a provider's configuration: each step of the update is one that the preview
// allowed, and an update carries its plan out as a whole.
func TestPreviewsOfUnknownProviders(t *testing.T) {
	if f := flag.Lookup("rapid.seed"); f.Value.String() == f.DefValue {
		require.NoError(t, flag.Set("rapid.seed", "1"))
	}
	kinds := slices.Sorted(maps.Keys(answersOfDiffConfig))
	rapid.Check(t, func(rt *rapid.T) {
		before := drawUnknown(rt, nil)
		after := drawUnknown(rt, &before)
		answer := rapid.SampledFrom(kinds).Draw(rt, "DiffConfig")
		cloud := enginetest.NewCloud()
		cloud.Regional, cloud.Owning, cloud.DiffConfig = true, true, answersOfDiffConfig[answer]
		if answer != "compares" && answer != "fails" && answer != "waits" {
			cloud.Regional = false // every configuration can manage all objects
		}
		for typ, about := range cloud.Types {
			if typ != enginetest.Plain {
				about.Replace = append(about.Replace, "froma", "fromb")
				cloud.Types[typ] = about
			}
		}
		cloud.Types[vague] = enginetest.Type{Computed: []string{"made"}, Vague: true}
		cloud.Types[coy] = enginetest.Type{Computed: []string{"made"}, Coy: true}
		cloud.Schema = computedSchema(slices.Collect(maps.Keys(cloud.Types)))
		c := checked{t, rt}
		s := enginetest.NewStack(c, cloud)
		s.Up(before.program())
		s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
		result, err := s.Try(enginetest.Preview, after.program())
		require.NoError(c, err)
		allowed := stepsByURN(s)
		plan, _ := s.Reread(result.Plan)
		s.Edit = func(d *enginetest.Deployment) { d.Plan = plan }
		_, err = s.Try(enginetest.Up, after.program())
		require.NoError(c, err, "a plan is carried out as a whole")
		for u, ops := range stepsByURN(s) {
			for _, op := range ops {
				require.True(c, allows(allowed[u], op), "%s: %s, and the preview had %v", u, op, allowed[u])
			}
		}
		s.Edit = nil
		again, err := s.Try(enginetest.Up, after.program())
		require.NoError(c, err)
		require.Zero(c, again.Changes.Total(), "%v", s.Steps())
	})
}

// computedSchema is a schema of types with a computed output. Without one, nobody knows which outputs there will be.
func computedSchema(types []string) string {
	var resources []string
	for _, typ := range slices.Sorted(slices.Values(types)) {
		resources = append(resources, fmt.Sprintf(`%q: {"properties": {"made": {"type": "string"}}, "inputProperties": {}}`, typ))
	}
	return `{"name": "test", "version": "1.0.0", "resources": {` + strings.Join(resources, ", ") + `}}`
}

func stepsByURN(s *enginetest.Stack) map[urn.URN][]engine.Op {
	out := make(map[urn.URN][]engine.Op)
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op != engine.OpSame && !strings.Contains(string(done.Step.URN), "::default") {
			out[done.Step.URN] = append(out[done.Step.URN], done.Step.Op)
		}
	}
	return out
}

// allows reports whether a preview with some steps of a resource allows a step: the same, or a weaker one. What was to be
// deleted before a replacement, and is not wanted, may be deleted at the end, and the other way round.
func allows(previewed []engine.Op, op engine.Op) bool {
	shown := func(op engine.Op) bool { return slices.Contains(previewed, op) }
	switch op {
	case engine.OpUpdate:
		return shown(op) || shown(engine.OpCreateReplacement)
	case engine.OpDeleteReplaced:
		return shown(op) || shown(engine.OpDelete)
	case engine.OpRemovePendingReplace:
		return shown(op) || shown(engine.OpDeleteReplaced) || shown(engine.OpDelete)
	case engine.OpDelete:
		return shown(op) || shown(engine.OpRemovePendingReplace)
	default:
		return shown(op)
	}
}

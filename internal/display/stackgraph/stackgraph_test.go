package stackgraph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display/graphdraw"
)

const (
	root     urn.URN = "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev"
	site     urn.URN = "urn:pulumi:dev::demo::site:index:Site::web"
	page     urn.URN = "urn:pulumi:dev::demo::site:index:Site$local:index/file:File::page"
	name     urn.URN = "urn:pulumi:dev::demo::random:index/randomPet:RandomPet::name"
	east     urn.URN = "urn:pulumi:dev::demo::pulumi:providers:local::east"
	standard urn.URN = "urn:pulumi:dev::demo::pulumi:providers:random::default"
)

// The graph of a state has clusters by parents, the properties that depend on each other, and the providers that the
// program names, but neither the stack itself nor old copies.
func TestGraphOfAState(t *testing.T) {
	s := state.NewSnapshot()
	for _, r := range []*state.Resource{
		{URN: root, Type: urn.RootType},
		{URN: standard, Type: standard.Type(), Custom: true, ID: "1", Parent: root},
		{URN: east, Type: east.Type(), Custom: true, ID: "2", Parent: root},
		{URN: name, Type: name.Type(), Custom: true, ID: "x", Parent: root, Provider: string(standard) + "::1", Inputs: property.Map{}},
		{URN: name, Type: name.Type(), Custom: true, ID: "old", Parent: root, Provider: string(standard) + "::1", Delete: true},
		{URN: site, Type: site.Type(), Parent: root, Dependencies: []urn.URN{name}},
		{URN: page, Type: page.Type(), Custom: true, ID: "y", Parent: site, Provider: string(east) + "::2", Protect: true,
			Dependencies: []urn.URN{name}, PropertyDependencies: map[string][]urn.URN{"content": {name}, "path": {name}, "mode": {}},
			DeletedWith: site},
	} {
		s.Add(r)
	}
	protected := func(r *state.Resource) (string, graphdraw.Look) {
		if r.Protect {
			return "protected", graphdraw.LookFaint
		}
		return "", ""
	}
	require.Equal(t, &graphdraw.Graph{
		Title: "demo/dev",
		Nodes: []graphdraw.Node{
			{ID: string(east), Name: "east", Kind: "pulumi:providers:local", Parent: string(root), Details: string(east)},
			{ID: string(name), Name: "name", Kind: "random:RandomPet", Parent: string(root), Details: string(name)},
			{ID: string(page), Name: "page", Kind: "local:File", Parent: string(site), Details: string(page), Note: "protected", Look: graphdraw.LookFaint},
			{ID: string(site), Name: "web", Kind: "site:Site", Parent: string(root), Details: string(site)},
		},
		Edges: []graphdraw.Edge{
			{From: string(page), To: string(name), Label: "content, path"},
			{From: string(page), To: string(east), Label: "provider", Dashed: true},
			{From: string(page), To: string(site), Label: "deletedWith", Dashed: true},
			{From: string(site), To: string(name)},
		},
	}, OfState(s, Options{Title: "demo/dev", Mark: protected}))
	require.Len(t, OfState(s, Options{Providers: true}).Nodes, 5)
}

// The graph of a deployment says what happens to each resource, in words and by its look.
func TestGraphOfADeployment(t *testing.T) {
	var r Recorder
	done := func(op engine.Op, u urn.URN, s engine.StepInfo) {
		s.Op, s.URN, s.Resource = op, u, u.Type()
		r.Event(engine.StepStarted{Step: s})
		r.Event(engine.StepDone{Step: s})
	}
	r.Event(engine.Started{Project: "demo", Stack: "dev"})
	done(engine.OpSame, root, engine.StepInfo{})
	done(engine.OpRefresh, name, engine.StepInfo{})
	done(engine.OpCreateReplacement, name, engine.StepInfo{})
	done(engine.OpCreate, page, engine.StepInfo{Parent: site, Dependencies: []engine.Dependency{{URN: name, Properties: []string{"content"}}}})
	done(engine.OpDeleteReplaced, name, engine.StepInfo{})
	done(engine.OpDelete, site, engine.StepInfo{})
	require.Equal(t, &graphdraw.Graph{
		Title: "demo/dev",
		Nodes: []graphdraw.Node{
			{ID: string(name), Name: "name", Kind: "random:RandomPet", Details: string(name), Note: "replace", Look: graphdraw.LookChanged},
			{ID: string(page), Name: "page", Kind: "local:File", Parent: string(site), Details: string(page), Note: "create", Look: graphdraw.LookAdded},
			{ID: string(site), Name: "web", Kind: "site:Site", Details: string(site), Note: "delete", Look: graphdraw.LookRemoved},
		},
		Edges: []graphdraw.Edge{{From: string(page), To: string(name), Label: "content"}},
	}, r.Graph(Options{}))
}

// A tree has each resource below its parent, and says how many it leaves out.
func TestTree(t *testing.T) {
	s := state.NewSnapshot()
	add := func(name string, parent urn.URN) {
		s.Add(&state.Resource{URN: urn.URN("urn:pulumi:dev::demo::lab:index:Thing::" + name), Type: "lab:index:Thing", Parent: parent, Custom: true})
	}
	s.Add(&state.Resource{URN: root, Type: urn.RootType})
	s.Add(&state.Resource{URN: standard, Type: standard.Type(), Custom: true, ID: "1", Parent: root})
	s.Add(&state.Resource{URN: site, Type: site.Type(), Parent: root})
	for _, name := range []string{"d", "c", "b", "a"} {
		add(name, site)
	}
	add("circle", "urn:pulumi:dev::demo::lab:index:Thing::circle")
	lines := func(most int) (out []string) {
		for _, b := range Tree(s, most) {
			if b.Resource == nil {
				out = append(out, fmt.Sprint(b.Prefix, b.More))
				continue
			}
			subject, _ := b.Subject()
			out = append(out, b.Prefix+subject)
		}
		return out
	}
	require.Equal(t, []string{
		"├─ lab:Thing circle", "└─ site:Site web", "   ├─ lab:Thing a", "   ├─ lab:Thing b", "   ├─ lab:Thing c", "   └─ lab:Thing d",
	}, lines(0))
	require.Equal(t, []string{"├─ lab:Thing circle", "└─ site:Site web", "   ├─ lab:Thing a", "   ├─ lab:Thing b", "   └─ 2"}, lines(2))
	require.Len(t, lines(3), 6, "one more is shown, not counted")
}

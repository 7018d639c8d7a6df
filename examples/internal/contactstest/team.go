package contactstest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/examples/contacts/provider"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Team is the token of the component.
const Team = "contacts:index:Team"

// Registered is what a monitor is asked for a resource, or, with the outputs of a component, at its end.
type Registered struct {
	abi.RegisterResourceRequest
	Outputs *property.Map
}

// Monitor makes no resources, but records what is asked, and answers as an engine does.
type Monitor struct {
	abi.Monitor // of which nothing is asked but the methods below
	Preview     bool
	// Failing is the name of the resource that fails: with an error, or with a result that is none.
	Failing string
	Result  abi.RegistrationResult
	// Random decides which operation ends first.
	Random *rand.Rand

	Registered []Registered
	running    []abi.Completed
	last       abi.OperationHandle
}

// RegisterResource makes a resource.
func (m *Monitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	from := map[string][]urn.URN{}
	for _, d := range r.PropertyDependencies {
		from[d.Key] = append(from[d.Key], d.URNs...)
	}
	for key, v := range r.Inputs.All() {
		for _, u := range v.Dependencies() {
			from[key] = append(from[key], urn.URN(u))
		}
	}
	r.PropertyDependencies = nil
	for _, key := range slices.Sorted(maps.Keys(from)) {
		slices.Sort(from[key])
		r.PropertyDependencies = append(r.PropertyDependencies, abi.PropertyDependency{Key: key, URNs: slices.Compact(from[key])})
	}
	r.Inputs = r.Inputs.Lower(property.KindOutput)
	r.SourcePosition = ""
	m.Registered = append(m.Registered, Registered{RegisterResourceRequest: r})

	response := abi.RegisterResourceResponse{URN: urn.New("dev", "test", r.Parent, r.Type, r.Name)}
	if m.Failing == r.Name {
		if m.Result == abi.RegistrationResultSuccess {
			return response, abi.NewError(abi.ErrorKindUnavailable, "the service is down")
		}
		response.Result = m.Result
	}
	if r.Custom {
		response.State = r.Inputs
		if !m.Preview {
			response.ID = "id of " + r.Name
			response.State = r.Inputs.With("label", property.String("label of "+r.Name))
		}
	}
	return response, nil
}

// ReadResource finds an object of the name Ann, and is told like a registration whose import has the ID.
func (m *Monitor) ReadResource(_ context.Context, r abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	told := abi.RegisterResourceRequest{Type: r.Type, Name: r.Name, Parent: r.Parent, Inputs: r.Properties, Options: r.Options}
	told.Options.ImportID = r.ID
	m.Registered = append(m.Registered, Registered{RegisterResourceRequest: told})
	response := abi.ReadResourceResponse{URN: urn.New("dev", "test", r.Parent, r.Type, r.Name)}
	if r.ID != "" {
		response.State = property.NewMap(property.Entry{Key: "name", Value: property.String("Ann")})
	}
	return response, nil
}

// Invoke finds the tag that it is asked for, and is told like a registration.
func (m *Monitor) Invoke(_ context.Context, r abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	args := r.Args.Lower(property.KindOutput)
	m.Registered = append(m.Registered, Registered{RegisterResourceRequest: abi.RegisterResourceRequest{
		Type: r.Token, Inputs: args, Parent: r.Options.Parent, Options: abi.ResourceOptions{Provider: r.Options.Provider, Dependencies: r.Options.DependsOn},
	}})
	if args.ContainsUnknowns() {
		return abi.MonitorInvokeResponse{Unknown: true}, nil
	}
	return abi.MonitorInvokeResponse{Result: property.NewMap(property.Entry{Key: "names", Value: property.Array(args.Get("tag").Plain())})}, nil
}

// RegisterOutputs ends a component.
func (m *Monitor) RegisterOutputs(_ context.Context, r abi.RegisterOutputsRequest) error {
	outputs := r.Outputs.Lower(property.KindOutput)
	m.Registered = append(m.Registered, Registered{abi.RegisterResourceRequest{Parent: r.URN}, &outputs})
	return nil
}

// Start makes a resource at once. Wait tells it.
func (m *Monitor) Start(ctx context.Context, o abi.Operation) (abi.OperationHandle, error) {
	m.last++
	m.running = append(m.running, abi.Completed{Handle: m.last, Outcome: abi.Perform(ctx, m, o)})
	return m.last, nil
}

// Wait tells of a resource that was made.
func (m *Monitor) Wait(context.Context) (abi.Completed, error) {
	if len(m.running) == 0 {
		return abi.Completed{}, abi.NewError(abi.ErrorKindInvalidArgument, "no operation was started that could end")
	}
	i := m.Random.IntN(len(m.running))
	next := m.running[i]
	m.running = slices.Delete(m.running, i, i+1)
	return next, nil
}

// Teams asks the provider for teams, and requires the registrations and answers of the one in Go.
func Teams(t *testing.T, open Opener) {
	native, err := guest.New(provider.New())
	require.NoError(t, err)
	const url = "http://127.0.0.1:1" // which no team asks
	module := open(t, false, url)
	for _, p := range []abi.Provider{native, module} {
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: pt.MapOf(pt.Object{"url": url})}))
	}
	made, failed, empty := 0, 0, 0
	for seed := range uint64(1000) {
		construct := func(p abi.Provider) (string, *abi.Error, []Registered) {
			request, monitor := drawn(rand.New(rand.NewPCG(seed, 1)))
			response, err := p.Construct(abi.WithMonitor(t.Context(), monitor), request)
			require.Empty(t, monitor.running, "seed %d: something still runs", seed)
			slices.SortFunc(response.StateDependencies, func(a, b abi.PropertyDependency) int { return strings.Compare(a.Key, b.Key) })
			for _, d := range response.StateDependencies {
				slices.Sort(d.URNs)
			}
			return canontest.Dump(response), abi.AsError(err), monitor.Registered
		}
		ours, ourErr, ourRegistered := construct(native)
		theirs, theirErr, theirRegistered := construct(module)
		require.Equal(t, canontest.Dump(ourRegistered), canontest.Dump(theirRegistered), "seed %d: %+v and %+v are registered, and the errors %v and %v", seed, ourRegistered, theirRegistered, ourErr, theirErr)
		if ourErr == nil && theirErr == nil {
			require.Equal(t, ours, theirs, "seed %d", seed)
			made++
			if len(ourRegistered) == 2 {
				empty++
			}
			continue
		}
		require.True(t, ourErr != nil && theirErr != nil, "seed %d: %v and %v", seed, ourErr, theirErr)
		const secret = "the provider cannot keep this input secret" // and what the author would have to write for it
		require.Equal(t, []any{ourErr.Kind, ourErr.Path}, []any{theirErr.Kind, theirErr.Path}, "seed %d: %v and %v", seed, ourErr, theirErr)
		if !strings.HasPrefix(ourErr.Message, secret) || !strings.HasPrefix(theirErr.Message, secret) {
			require.Equal(t, ourErr.Message, theirErr.Message, "seed %d", seed)
		}
		failed++
	}
	require.Greater(t, min(made, failed, empty), 100)
}

// drawn returns a request for a team, and the monitor for it.
func drawn(random *rand.Rand) (abi.ConstructRequest, *Monitor) {
	one := func(n int) bool { return random.IntN(n) == 0 }
	m := &Monitor{Preview: one(2), Random: rand.New(rand.NewPCG(random.Uint64(), 2))}
	request := abi.ConstructRequest{Type: Team, Name: "team", Context: abi.RunContext{Project: "test", Stack: "dev", Organization: "o", DryRun: m.Preview, Parallel: 4}}
	if one(3) {
		request.Parent = urn.New("dev", "test", "", "contacts:index:Company", "company")
	}
	thing := func(name string) urn.URN { return urn.New("dev", "test", "", "contacts:index:Contact", name) }
	wrapped := func(v property.Value) property.Value {
		switch random.IntN(8) {
		case 0:
			return property.Secret(v)
		case 1:
			return property.OutputOf(property.Output{Value: v, Secret: one(2), Dependencies: []string{string(thing("a")), string(thing("b"))}})
		case 2:
			if m.Preview {
				return property.Unknown
			}
		case 3:
			if m.Preview {
				return property.OutputOf(property.Output{Value: property.Unknown, Secret: one(2), Dependencies: []string{string(thing("c"))}})
			}
		}
		return v
	}
	var names []property.Value
	for range random.IntN(5) {
		name := property.String([]string{"Ann", "Bob", "Zoë", "", "Ann Lee", "Eve", "Max"}[random.IntN(7)])
		if one(30) {
			name = wrapped(name)
		}
		names = append(names, name)
	}
	all := property.Array(names...)
	if one(20) {
		all = wrapped(all)
	}
	inputs := property.NewMap(
		property.Entry{Key: "names", Value: all},
		property.Entry{Key: "domain", Value: wrapped(property.String([]string{"example.org", "", "Zürich.ch"}[random.IntN(3)]))},
	)
	if one(2) {
		inputs = inputs.With("note", wrapped(property.String("correct horse")))
	}
	switch random.IntN(40) {
	case 0:
		inputs = inputs.Without("domain")
	case 1:
		inputs = inputs.With("names", property.String("Ann"))
	case 2:
		inputs = inputs.With("domain", property.Number(1))
	case 3:
		inputs = inputs.With("name", property.Null).With("nmes", property.Bool(true))
	case 4:
		inputs = inputs.With("note", property.Null)
	}
	request.Inputs = inputs
	for _, key := range []string{"domain", "names", "note"} {
		if inputs.Has(key) && one(4) {
			request.InputDependencies = append(request.InputDependencies, abi.PropertyDependency{Key: key, URNs: []urn.URN{thing("b"), thing("d")}})
		}
	}
	request.Options = options(random)
	if one(5) {
		m.Failing = []string{"team-Ann", "team-Bob", "team-", "team"}[random.IntN(4)]
		m.Result = abi.RegistrationResult(random.IntN(3))
		if m.Failing == "team" { // a component of its own type is made by nobody else
			m.Result = abi.RegistrationResultSuccess
		}
	}
	return request, m
}

// options returns options of the component itself, each set at times.
func options(random *rand.Rand) (o abi.ResourceOptions) {
	at := func() bool { return random.IntN(4) == 0 }
	yes, no, trigger := true, false, property.Array(property.Number(1), property.Secret(property.String("trigger")))
	some := func(set func()) {
		if at() {
			set()
		}
	}
	u := urn.New("dev", "test", "", "contacts:index:Contact", "other")
	some(func() { o.Protect = &yes })
	some(func() { o.RetainOnDelete = &no })
	some(func() { o.DeleteBeforeReplace = &yes })
	some(func() { o.Provider = "urn:pulumi:dev::test::pulumi:providers:contacts::mine::1" })
	some(func() {
		o.Providers = []abi.PackageProvider{{Package: "other", Reference: "urn:pulumi:dev::test::pulumi:providers:other::o::2"}}
	})
	some(func() {
		o.Providers = append(o.Providers, abi.PackageProvider{Package: "contacts", Reference: "urn:pulumi:dev::test::pulumi:providers:contacts::theirs::3"})
	})
	some(func() { o.Dependencies = []urn.URN{u} })
	some(func() { o.DeletedWith = u })
	some(func() { o.ReplaceWith = []urn.URN{u} })
	some(func() { o.IgnoreChanges, o.ReplaceOnChanges = []string{"names[0]", "domain"}, []string{"note"} })
	some(func() { o.HideDiffs, o.AdditionalSecretOutputs = []string{"domain"}, []string{"ids"} })
	some(func() {
		o.Aliases = []abi.Alias{{Case: abi.AliasCaseURN, URN: u}, {Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "old", NoParent: true}}}
	})
	some(func() { o.CustomTimeouts = abi.CustomTimeouts{Create: 1.5, Delete: 3} })
	some(func() { o.ImportID = "an ID" })
	some(func() { o.Version, o.PackageRef = "1.0.0", "ref" })
	some(func() { o.ReplacementTrigger = &trigger })
	some(func() { o.Hooks = []abi.HookBinding{{Kind: abi.HookKindAfterCreate, Names: []string{"a", "b"}}} })
	return o
}

// Describe returns a registration for a comparison by eye.
func (r Registered) Describe() string {
	if r.Outputs != nil {
		return fmt.Sprintf("outputs of %s: %s", r.Parent.Name(), property.Object(*r.Outputs))
	}
	text := fmt.Sprintf("%s %s in %q: %s", r.Type, r.Name, r.Parent.Name(), property.Object(r.Inputs))
	for _, d := range r.PropertyDependencies {
		text += fmt.Sprintf(", %s from %s", d.Key, d.URNs)
	}
	for _, u := range r.Options.Dependencies {
		text += ", depends on " + u.Name()
	}
	return text
}

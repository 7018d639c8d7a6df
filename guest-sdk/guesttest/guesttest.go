// Package guesttest tests providers against the contract, in the test's own program and without an engine.
//
//	func TestGreeting(t *testing.T) {
//		p := guesttest.New(t, provider())
//		p.Lifecycle("greet:index:Greeting", guesttest.Lifecycle{
//			Inputs: guesttest.Props{"name": "World"},
//			State:  guesttest.Props{"text": "Hello, World!"},
//			Changes: []guesttest.Change{
//				{Inputs: guesttest.Props{"name": "World", "mark": "."}, Diff: []string{"mark update"}},
//			},
//		})
//	}
//
// A failure names the resource, the call, and the property, and shows inputs and state. [NewAPI] is a service for providers that
// talk to one, and [Faults] lets each of its requests fail. [Provider.Golden] compares a difference with a file. [New] runs the
// code of the provider as it is; package moduletest runs the same tests with the built module in its sandbox.
package guesttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/property/literal"
)

// Props are properties: strings, bools, ints, float64s, nil, []string, []any, nested Props, and [property.Value].
type Props = map[string]any

// Provider is a provider under test. Its methods fail the test if the call fails, but for those whose names begin with Try.
type Provider struct {
	// ABI is the provider as the engine calls it.
	ABI abi.Provider

	t    testing.TB
	name string
}

// New returns a provider under test. Mistakes in its types fail the test.
func New(t testing.TB, declared guest.Provider) *Provider {
	t.Helper()
	p, err := guest.New(declared)
	if err != nil {
		t.Fatalf("the provider %s: %v", declared.Name, err)
	}
	return Of(t, p)
}

// Of returns a provider under test that is there already, such as a module in a host.
func Of(t testing.TB, p abi.Provider) *Provider { return &Provider{ABI: p, t: t, name: "it"} }

// Named returns the provider for tests of resources with another name than it, from which a provider may make an ID.
func (p *Provider) Named(name string) *Provider {
	named := *p
	named.name = name
	return &named
}

// Configure checks a configuration and configures the provider with it.
func (p *Provider) Configure(config Props) {
	p.t.Helper()
	ctx := p.t.Context()
	checked, err := p.ABI.CheckConfig(ctx, abi.CheckRequest{News: mapOf(p.t, config)})
	if err != nil {
		p.t.Fatalf("checking the configuration: %v", err)
	}
	p.noFailures("the configuration", checked.Failures)
	if err := p.ABI.Configure(ctx, abi.ConfigureRequest{Inputs: checked.Inputs}); err != nil {
		p.t.Fatalf("configuring the provider: %v", err)
	}
}

// Resource is a resource that exists, as the engine records it.
type Resource struct {
	Type   string
	Name   string
	ID     string
	Inputs property.Map
	State  property.Map

	t testing.TB
}

// Text returns a property of the state that is a string, secret or not, at a path such as tags.owner or list[0]. The test fails
// if it is none.
func (r *Resource) Text(path string) string {
	r.t.Helper()
	text, ok := r.Value(path).Plain().AsString()
	if !ok {
		r.t.Fatalf("%s: %s is %s, and no string", r, path, property.Render(r.Value(path)))
	}
	return text
}

// Value returns a property of the state at a path. The test fails if there is none.
func (r *Resource) Value(path string) property.Value {
	r.t.Helper()
	parsed, err := property.ParsePath(path)
	if err != nil {
		r.t.Fatalf("%s: %v", r, err)
	}
	v, ok := parsed.Get(property.Object(r.State))
	if !ok {
		r.t.Fatalf("%s has no property %s: it has %s", r, path, strings.Join(r.State.Keys(), ", "))
	}
	return v
}

const project, stack = "test", "test"

func (p *Provider) urn(typ string) urn.URN { return urn.New(stack, project, "", typ, p.name) }

func (p *Provider) urnOf(r *Resource) urn.URN { return urn.New(stack, project, "", r.Type, r.Name) }

// called returns a resource as errors name it.
func (p *Provider) called(typ string) string { return (&Resource{Type: typ, Name: p.name}).String() }

// String returns type and name, as errors have them.
func (r *Resource) String() string { return fmt.Sprintf("%s %q", r.Type, r.Name) }

func mapOf(t testing.TB, props Props) (m property.Map) {
	t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			t.Fatal(problem)
		}
	}()
	return literal.MapOf(props)
}

func (p *Provider) noFailures(what string, failures []abi.CheckFailure) {
	p.t.Helper()
	if len(failures) > 0 {
		p.t.Fatalf("%s is refused:\n%s", what, strings.Join(failureLines(failures), "\n"))
	}
}

func failureLines(failures []abi.CheckFailure) []string {
	lines := make([]string, len(failures))
	for i, f := range failures {
		lines[i] = f.Path + ": " + f.Reason
	}
	slices.Sort(lines)
	return lines
}

// TryCheck checks inputs. It returns them with their defaults, and the failures as "path: reason", sorted.
func (p *Provider) TryCheck(typ string, inputs Props) (property.Map, []string) {
	p.t.Helper()
	response, err := p.ABI.Check(p.t.Context(), abi.CheckRequest{
		URN: p.urn(typ), Name: p.name, Type: typ, News: mapOf(p.t, inputs), RandomSeed: bytes.Repeat([]byte{7}, 32),
	})
	if err != nil {
		p.t.Fatalf("checking %s: %v", p.called(typ), err)
	}
	return response.Inputs, failureLines(response.Failures)
}

// Check checks inputs that are right, and returns them with their defaults.
func (p *Provider) Check(typ string, inputs Props) property.Map {
	p.t.Helper()
	checked, failures := p.TryCheck(typ, inputs)
	if len(failures) > 0 {
		p.t.Fatalf("the inputs of %s are refused:\n%s", p.called(typ), strings.Join(failures, "\n"))
	}
	return checked
}

// Preview returns the state that a creation would have. Values that are known only then are unknown.
func (p *Provider) Preview(typ string, inputs Props) property.Map {
	p.t.Helper()
	response, err := p.ABI.Create(p.t.Context(), abi.CreateRequest{
		URN: p.urn(typ), Name: p.name, Type: typ, Inputs: p.Check(typ, inputs), Preview: true,
	})
	if err != nil {
		p.t.Fatalf("previewing the creation of %s: %v", p.called(typ), err)
	}
	return response.State
}

// TryCreate creates a resource of inputs that are right.
func (p *Provider) TryCreate(typ string, inputs Props) (*Resource, error) {
	p.t.Helper()
	checked := p.Check(typ, inputs)
	response, err := p.ABI.Create(p.t.Context(), abi.CreateRequest{URN: p.urn(typ), Name: p.name, Type: typ, Inputs: checked})
	return &Resource{Type: typ, Name: p.name, ID: response.ID, Inputs: checked, State: response.State, t: p.t}, err
}

// Create creates a resource.
func (p *Provider) Create(typ string, inputs Props) *Resource {
	p.t.Helper()
	r, err := p.TryCreate(typ, inputs)
	if err != nil {
		p.t.Fatalf("creating %s: %v", p.called(typ), err)
	}
	return r
}

// Diff compares a resource with new inputs. It returns "path kind" for each difference, sorted, where kind is add, update, or
// delete, with -replace behind it for a difference that replaces the resource.
func (p *Provider) Diff(r *Resource, inputs Props) []string {
	p.t.Helper()
	_, response := p.diff(r, inputs)
	var lines []string
	for _, d := range differences(response) {
		lines = append(lines, d.Path+" "+d.Kind.String())
	}
	slices.Sort(lines)
	return lines
}

// diff compares a resource with new inputs, which it returns with their defaults.
func (p *Provider) diff(r *Resource, inputs Props) (property.Map, abi.DiffResponse) {
	p.t.Helper()
	news := p.Named(r.Name).Check(r.Type, inputs)
	response, err := p.ABI.Diff(p.t.Context(), abi.DiffRequest{
		URN: p.urnOf(r), Name: r.Name, Type: r.Type, ID: r.ID, Olds: r.State, OldInputs: r.Inputs, News: news,
	})
	if err != nil {
		p.t.Fatalf("comparing %s: %v", r, err)
	}
	return news, response
}

// differences returns the differences of a response, by top-level inputs if the provider tells no more, and as one of the path *
// if it only tells that there are some.
func differences(response abi.DiffResponse) []abi.PropertyDiff {
	if response.HasDetailedDiff {
		return response.DetailedDiff
	}
	var all []abi.PropertyDiff
	for _, key := range response.ReplaceKeys {
		all = append(all, abi.PropertyDiff{Path: key, Kind: abi.DiffKindUpdateReplace, InputDiff: true})
	}
	for _, key := range response.ChangedKeys {
		if !slices.Contains(response.ReplaceKeys, key) {
			all = append(all, abi.PropertyDiff{Path: key, Kind: abi.DiffKindUpdate, InputDiff: true})
		}
	}
	if len(all) == 0 && response.Changes == abi.DiffChangesSome {
		all = append(all, abi.PropertyDiff{Path: "*", Kind: abi.DiffKindUpdate})
	}
	return all
}

// TryUpdate updates a resource.
func (p *Provider) TryUpdate(r *Resource, inputs Props) (*Resource, error) {
	p.t.Helper()
	checked := p.Named(r.Name).Check(r.Type, inputs)
	response, err := p.ABI.Update(p.t.Context(), abi.UpdateRequest{
		URN: p.urnOf(r), Name: r.Name, Type: r.Type, ID: r.ID, Olds: r.State, OldInputs: r.Inputs, News: checked,
	})
	return &Resource{Type: r.Type, Name: r.Name, ID: r.ID, Inputs: checked, State: response.State, t: p.t}, err
}

// Update updates a resource.
func (p *Provider) Update(r *Resource, inputs Props) *Resource {
	p.t.Helper()
	updated, err := p.TryUpdate(r, inputs)
	if err != nil {
		p.t.Fatalf("updating %s: %v", r, err)
	}
	return updated
}

// Read reads a resource as a refresh does. It returns nil if the resource is gone.
func (p *Provider) Read(r *Resource) *Resource {
	p.t.Helper()
	read, err := p.Named(r.Name).read(p.t.Context(), r.Type, r.ID, &r.State, &r.Inputs)
	if err != nil {
		p.t.Fatalf("reading %s: %v", r, err)
	}
	return read
}

// Import reads a resource by its ID alone. It returns nil if there is none.
func (p *Provider) Import(typ, id string) *Resource {
	p.t.Helper()
	read, err := p.read(p.t.Context(), typ, id, nil, nil)
	if err != nil {
		p.t.Fatalf("importing %s %q: %v", p.called(typ), id, err)
	}
	return read
}

func (p *Provider) read(ctx context.Context, typ, id string, state, inputs *property.Map) (*Resource, error) {
	response, err := p.ABI.Read(ctx, abi.ReadRequest{URN: p.urn(typ), Name: p.name, Type: typ, ID: id, State: state, Inputs: inputs})
	if err != nil || response.ID == "" {
		return nil, err
	}
	r := &Resource{Type: typ, Name: p.name, ID: response.ID, State: response.State, t: p.t}
	if inputs != nil {
		r.Inputs = *inputs
	}
	if response.Inputs != nil {
		r.Inputs = *response.Inputs
	}
	return r, nil
}

// TryDelete deletes a resource.
func (p *Provider) TryDelete(r *Resource) error {
	p.t.Helper()
	return p.ABI.Delete(p.t.Context(), abi.DeleteRequest{
		URN: p.urnOf(r), Name: r.Name, Type: r.Type, ID: r.ID, State: r.State, OldInputs: r.Inputs,
	})
}

// Delete deletes a resource.
func (p *Provider) Delete(r *Resource) {
	p.t.Helper()
	if err := p.TryDelete(r); err != nil {
		p.t.Fatalf("deleting %s: %v", r, err)
	}
}

// TryInvoke calls a function.
func (p *Provider) TryInvoke(token string, args Props) (property.Map, error) {
	p.t.Helper()
	response, err := p.ABI.Invoke(p.t.Context(), abi.InvokeRequest{Token: token, Args: mapOf(p.t, args)})
	if err == nil && len(response.Failures) > 0 {
		err = fmt.Errorf("the arguments are refused:\n%s", strings.Join(failureLines(response.Failures), "\n"))
	}
	return response.Result, err
}

// Invoke calls a function.
func (p *Provider) Invoke(token string, args Props) property.Map {
	p.t.Helper()
	result, err := p.TryInvoke(token, args)
	if err != nil {
		p.t.Fatalf("calling %s: %v", token, err)
	}
	return result
}

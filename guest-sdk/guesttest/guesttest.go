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
// A failure names the resource type, the call, and the property. [New] runs the code of the provider as it is; to test the built
// module, with its sandbox, run husk provider test.
package guesttest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/literal"
)

// Props are properties: strings, bools, ints, float64s, nil, []string, []any, nested Props, and [property.Value].
type Props = map[string]any

// Provider is a provider under test. Its methods fail the test if the call fails, but for those whose names begin with Try.
type Provider struct {
	// ABI is the provider as the engine calls it.
	ABI abi.Provider

	t testing.TB
}

// New returns a provider under test. Mistakes in its types fail the test.
func New(t testing.TB, declared guest.Provider) *Provider {
	t.Helper()
	p, err := guest.New(declared)
	if err != nil {
		t.Fatalf("the provider %s: %v", declared.Name, err)
	}
	return &Provider{ABI: p, t: t}
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
		r.t.Fatalf("%s: %s is %s, and no string", r.Type, path, property.Render(r.Value(path)))
	}
	return text
}

// Value returns a property of the state at a path. The test fails if there is none.
func (r *Resource) Value(path string) property.Value {
	r.t.Helper()
	parsed, err := property.ParsePath(path)
	if err != nil {
		r.t.Fatalf("%s: %v", r.Type, err)
	}
	v, ok := parsed.Get(property.Object(r.State))
	if !ok {
		r.t.Fatalf("%s has no property %s: it has %s", r.Type, path, strings.Join(r.State.Keys(), ", "))
	}
	return v
}

const (
	project, stack = "test", "test"
	name           = "it"
)

func urnOf(typ string) urn.URN { return urn.New(stack, project, "", typ, name) }

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

// TryCheck checks inputs. It returns them with their defaults, and what is wrong with them as "path: reason", sorted.
func (p *Provider) TryCheck(typ string, inputs Props) (property.Map, []string) {
	p.t.Helper()
	response, err := p.ABI.Check(p.t.Context(), abi.CheckRequest{
		URN: urnOf(typ), Name: name, Type: typ, News: mapOf(p.t, inputs), RandomSeed: bytes.Repeat([]byte{7}, 32),
	})
	if err != nil {
		p.t.Fatalf("checking %s: %v", typ, err)
	}
	return response.Inputs, failureLines(response.Failures)
}

// Check checks inputs that are right, and returns them with their defaults.
func (p *Provider) Check(typ string, inputs Props) property.Map {
	p.t.Helper()
	checked, failures := p.TryCheck(typ, inputs)
	if len(failures) > 0 {
		p.t.Fatalf("the inputs of %s are refused:\n%s", typ, strings.Join(failures, "\n"))
	}
	return checked
}

// Preview returns the state that a creation would have. Values that are known only then are unknown.
func (p *Provider) Preview(typ string, inputs Props) property.Map {
	p.t.Helper()
	response, err := p.ABI.Create(p.t.Context(), abi.CreateRequest{
		URN: urnOf(typ), Name: name, Type: typ, Inputs: p.Check(typ, inputs), Preview: true,
	})
	if err != nil {
		p.t.Fatalf("previewing the creation of %s: %v", typ, err)
	}
	return response.State
}

// TryCreate creates a resource of inputs that are right.
func (p *Provider) TryCreate(typ string, inputs Props) (*Resource, error) {
	p.t.Helper()
	checked := p.Check(typ, inputs)
	response, err := p.ABI.Create(p.t.Context(), abi.CreateRequest{URN: urnOf(typ), Name: name, Type: typ, Inputs: checked})
	return &Resource{Type: typ, ID: response.ID, Inputs: checked, State: response.State, t: p.t}, err
}

// Create creates a resource.
func (p *Provider) Create(typ string, inputs Props) *Resource {
	p.t.Helper()
	r, err := p.TryCreate(typ, inputs)
	if err != nil {
		p.t.Fatalf("creating %s: %v", typ, err)
	}
	return r
}

// Diff compares a resource with new inputs. It returns "path kind" for each difference, sorted, where kind is add, update, or
// delete, with -replace behind it for a difference that replaces the resource.
func (p *Provider) Diff(r *Resource, inputs Props) []string {
	p.t.Helper()
	response, err := p.ABI.Diff(p.t.Context(), abi.DiffRequest{
		URN: urnOf(r.Type), Name: name, Type: r.Type, ID: r.ID, Olds: r.State, OldInputs: r.Inputs, News: p.Check(r.Type, inputs),
	})
	if err != nil {
		p.t.Fatalf("comparing %s: %v", r.Type, err)
	}
	var lines []string
	for _, d := range response.DetailedDiff {
		lines = append(lines, d.Path+" "+d.Kind.String())
	}
	slices.Sort(lines)
	return lines
}

// TryUpdate updates a resource.
func (p *Provider) TryUpdate(r *Resource, inputs Props) (*Resource, error) {
	p.t.Helper()
	checked := p.Check(r.Type, inputs)
	response, err := p.ABI.Update(p.t.Context(), abi.UpdateRequest{
		URN: urnOf(r.Type), Name: name, Type: r.Type, ID: r.ID, Olds: r.State, OldInputs: r.Inputs, News: checked,
	})
	return &Resource{Type: r.Type, ID: r.ID, Inputs: checked, State: response.State, t: p.t}, err
}

// Update updates a resource.
func (p *Provider) Update(r *Resource, inputs Props) *Resource {
	p.t.Helper()
	updated, err := p.TryUpdate(r, inputs)
	if err != nil {
		p.t.Fatalf("updating %s: %v", r.Type, err)
	}
	return updated
}

// Read reads a resource as a refresh does. It returns nil if the resource is gone.
func (p *Provider) Read(r *Resource) *Resource {
	p.t.Helper()
	read, err := p.read(p.t.Context(), r.Type, r.ID, &r.State, &r.Inputs)
	if err != nil {
		p.t.Fatalf("reading %s: %v", r.Type, err)
	}
	return read
}

// Import reads a resource by its ID alone. It returns nil if there is none.
func (p *Provider) Import(typ, id string) *Resource {
	p.t.Helper()
	read, err := p.read(p.t.Context(), typ, id, nil, nil)
	if err != nil {
		p.t.Fatalf("importing %s %q: %v", typ, id, err)
	}
	return read
}

func (p *Provider) read(ctx context.Context, typ, id string, state, inputs *property.Map) (*Resource, error) {
	response, err := p.ABI.Read(ctx, abi.ReadRequest{URN: urnOf(typ), Name: name, Type: typ, ID: id, State: state, Inputs: inputs})
	if err != nil || response.ID == "" {
		return nil, err
	}
	r := &Resource{Type: typ, ID: response.ID, State: response.State, t: p.t}
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
		URN: urnOf(r.Type), Name: name, Type: r.Type, ID: r.ID, State: r.State, OldInputs: r.Inputs,
	})
}

// Delete deletes a resource.
func (p *Provider) Delete(r *Resource) {
	p.t.Helper()
	if err := p.TryDelete(r); err != nil {
		p.t.Fatalf("deleting %s: %v", r.Type, err)
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

// Change is an update in a [Lifecycle].
type Change struct {
	Inputs Props
	// Diff is what [Provider.Diff] must return. If one of its lines ends with -replace, the resource is created anew.
	Diff []string
	// State are properties that the state must have then.
	State Props
}

// Lifecycle says how a resource lives.
type Lifecycle struct {
	Inputs Props
	// State are properties that the state must have after the creation.
	State   Props
	Changes []Change
	// Import has the resource read by its ID at the end: an import must find the state that was recorded.
	Import bool
	// Remains is set for resources of which a read after the deletion cannot know that they are gone.
	Remains bool
}

// Lifecycle previews, creates, reads, compares, changes, imports, and deletes a resource. Each must do as the contract says:
// a preview promises nothing that the creation does not keep, the same inputs are no difference, a refresh of what nobody has
// changed finds no change, and what was deleted is gone, and can be deleted again.
func (p *Provider) Lifecycle(typ string, l Lifecycle) {
	p.t.Helper()
	r := p.create(typ, l.Inputs, l.State)
	for _, c := range l.Changes {
		diff := p.Diff(r, c.Inputs)
		want := slices.Sorted(slices.Values(c.Diff))
		if !slices.Equal(diff, want) {
			p.t.Fatalf("the difference of %s is %q, not %q", typ, diff, want)
		}
		if slices.ContainsFunc(diff, func(line string) bool { return strings.HasSuffix(line, "-replace") }) {
			p.Delete(r)
			r = p.create(typ, c.Inputs, c.State)
			continue
		}
		r = p.Update(r, c.Inputs)
		p.wantState(r, c.State)
		p.settled(r, c.Inputs)
	}
	if l.Import {
		imported := p.Import(typ, r.ID)
		if imported == nil {
			p.t.Fatalf("importing %s %q: it is not found", typ, r.ID)
		}
		p.sameProperties(typ, "the import", r.State, imported.State)
	}
	p.Delete(r)
	if !l.Remains {
		if read := p.Read(r); read != nil {
			p.t.Fatalf("%s %q is still there after its deletion", typ, r.ID)
		}
	}
	if err := p.TryDelete(r); err != nil {
		p.t.Fatalf("deleting %s again, as after a run that was interrupted: %v", typ, err)
	}
}

// create previews and creates a resource, and checks that both agree.
func (p *Provider) create(typ string, inputs, state Props) *Resource {
	p.t.Helper()
	promised := p.Preview(typ, inputs)
	r := p.Create(typ, inputs)
	for key, v := range promised.All() {
		if got := r.State.Get(key); !v.ContainsUnknowns() && !v.Plain().Equal(got.Plain()) {
			p.t.Fatalf("%s: the preview promised %s for %s, and the creation gave %s", typ, property.Render(v), key, property.Render(got))
		}
	}
	p.wantState(r, state)
	p.settled(r, inputs)
	return r
}

// settled checks that nothing is to be done for a resource.
func (p *Provider) settled(r *Resource, inputs Props) {
	p.t.Helper()
	if diff := p.Diff(r, inputs); len(diff) > 0 {
		p.t.Fatalf("%s differs from the inputs that it has: %q", r.Type, diff)
	}
	read := p.Read(r)
	if read == nil {
		p.t.Fatalf("%s %q is gone when it is read", r.Type, r.ID)
	}
	p.sameProperties(r.Type, "the read", r.State, read.State)
	if diff := p.Diff(read, inputs); len(diff) > 0 {
		p.t.Fatalf("%s differs from its inputs after it is read: %q", r.Type, diff)
	}
}

func (p *Provider) wantState(r *Resource, want Props) {
	p.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		v, got := literal.Of(want[key]), r.State.Get(key)
		if !v.Plain().Equal(got.Plain()) {
			p.t.Fatalf("%s: %s is %s, not %s", r.Type, key, property.Render(got.Plain()), property.Render(v))
		}
	}
}

func (p *Provider) sameProperties(typ, what string, want, got property.Map) {
	p.t.Helper()
	for _, c := range property.Diff(want, got) {
		was, _ := c.Path.Get(property.Object(want))
		is, _ := c.Path.Get(property.Object(got))
		p.t.Fatalf("%s: %s gives %s for %s, where the state has %s", typ, what, property.Render(is), c.Path, property.Render(was))
	}
}

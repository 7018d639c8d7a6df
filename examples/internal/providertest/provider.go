// Package providertest drives providers as the engine does, as programs or modules, for tests.
package providertest

import (
	"bytes"
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// Object is the literal of an object, for [Of], and List the literal of an array.
type (
	Object = propertytest.Object
	List   = propertytest.Array
)

// Of returns the value of a literal, see [propertytest.Of].
func Of(literal any) property.Value { return propertytest.Of(literal) }

// MapOf is [Of] for properties.
func MapOf(literal Object) property.Map { return propertytest.MapOf(literal) }

// With returns the object with more properties, or others.
func With(o Object, more Object) Object {
	merged := Object{}
	maps.Copy(merged, o)
	maps.Copy(merged, more)
	return merged
}

// T is the interface of a test that the package needs: a *testing.T, or a *rapid.T.
type T interface {
	require.TestingT
	Helper()
}

// Provider is a provider under test. Only calls whose names begin with Try may fail.
type Provider struct {
	T T
	// Context is the context of all calls.
	Context  context.Context
	Provider abi.Provider
}

// New tests the provider in the calling program, at the present time.
func New(t *testing.T, declared guest.Provider) *Provider {
	t.Helper()
	p, err := guest.New(declared)
	require.NoError(t, err)
	return &Provider{T: t, Context: t.Context(), Provider: p}
}

// In returns the provider in a part of the test, such as one check of a property.
func (p *Provider) In(t T) *Provider {
	return &Provider{T: t, Context: p.Context, Provider: p.Provider}
}

// Resource is one that exists, as the state records it.
type Resource struct {
	Token  string
	ID     string
	Inputs property.Map
	State  property.Map
}

// Text returns the string that a property of the state holds, secret or not.
func (r Resource) Text(name string) string {
	text, _ := r.State.Get(name).Plain().AsString()
	return text
}

const name = "test"

// URN returns the URN of the resource of a type that the calls are about.
func URN(token string) urn.URN { return urn.New("dev", "test", "", token, name) }

// TryCheck checks inputs.
func (p *Provider) TryCheck(token string, inputs property.Map) (property.Map, []abi.CheckFailure) {
	p.T.Helper()
	response, err := p.Provider.Check(p.Context, abi.CheckRequest{
		URN: URN(token), Name: name, Type: token, News: inputs, RandomSeed: bytes.Repeat([]byte{7}, 32),
	})
	require.NoError(p.T, err)
	return response.Inputs, response.Failures
}

// Failures returns the failures that a check of the inputs finds, as "path: reason".
func (p *Provider) Failures(token string, inputs Object) []string {
	p.T.Helper()
	_, failures := p.TryCheck(token, MapOf(inputs))
	var lines []string
	for _, f := range failures {
		lines = append(lines, f.Path+": "+f.Reason)
	}
	return lines
}

// Check checks inputs that are right.
func (p *Provider) Check(token string, inputs Object) property.Map {
	p.T.Helper()
	checked, failures := p.TryCheck(token, MapOf(inputs))
	require.Empty(p.T, failures)
	return checked
}

// TryCreate creates a resource of inputs that are right.
func (p *Provider) TryCreate(token string, inputs Object) (Resource, error) {
	p.T.Helper()
	checked := p.Check(token, inputs)
	response, err := p.Provider.Create(p.Context, abi.CreateRequest{URN: URN(token), Name: name, Type: token, Inputs: checked})
	return Resource{Token: token, ID: response.ID, Inputs: checked, State: response.State}, err
}

// Create creates a resource.
func (p *Provider) Create(token string, inputs Object) Resource {
	p.T.Helper()
	r, err := p.TryCreate(token, inputs)
	require.NoError(p.T, err)
	return r
}

// TryPreview foretells what Create would give.
func (p *Provider) TryPreview(token string, inputs Object) (property.Map, error) {
	p.T.Helper()
	response, err := p.Provider.Create(p.Context, abi.CreateRequest{
		URN: URN(token), Name: name, Type: token, Inputs: p.Check(token, inputs), Preview: true,
	})
	return response.State, err
}

// Diff compares a resource with new inputs. The answer has "path kind" for each change.
func (p *Provider) Diff(r Resource, inputs Object) []string {
	p.T.Helper()
	response, err := p.Provider.Diff(p.Context, abi.DiffRequest{
		URN: URN(r.Token), Name: name, Type: r.Token, ID: r.ID,
		Olds: r.State, OldInputs: r.Inputs, News: p.Check(r.Token, inputs),
	})
	require.NoError(p.T, err)
	var changes []string
	for _, change := range response.DetailedDiff {
		changes = append(changes, change.Path+" "+change.Kind.String())
	}
	require.Equal(p.T, len(changes) > 0, response.Changes == abi.DiffChangesSome)
	return changes
}

// TryUpdate changes a resource.
func (p *Provider) TryUpdate(r Resource, inputs Object) (Resource, error) {
	p.T.Helper()
	checked := p.Check(r.Token, inputs)
	response, err := p.Provider.Update(p.Context, abi.UpdateRequest{
		URN: URN(r.Token), Name: name, Type: r.Token, ID: r.ID, Olds: r.State, OldInputs: r.Inputs, News: checked,
	})
	return Resource{Token: r.Token, ID: r.ID, Inputs: checked, State: response.State}, err
}

// Update changes a resource.
func (p *Provider) Update(r Resource, inputs Object) Resource {
	p.T.Helper()
	updated, err := p.TryUpdate(r, inputs)
	require.NoError(p.T, err)
	return updated
}

// Refresh reads a resource; exists is false if it is gone.
func (p *Provider) Refresh(r Resource) (refreshed Resource, exists bool) {
	p.T.Helper()
	refreshed, err := p.tryRead(r, &r.State, &r.Inputs)
	require.NoError(p.T, err)
	return refreshed, refreshed.ID != ""
}

// TryImport reads a resource by its ID alone. A missing one has no ID.
func (p *Provider) TryImport(token, id string) (Resource, error) {
	return p.tryRead(Resource{Token: token, ID: id}, nil, nil)
}

func (p *Provider) tryRead(r Resource, state, inputs *property.Map) (Resource, error) {
	response, err := p.Provider.Read(p.Context, abi.ReadRequest{
		URN: URN(r.Token), Name: name, Type: r.Token, ID: r.ID, State: state, Inputs: inputs,
	})
	if err != nil || response.ID == "" {
		return Resource{}, err
	}
	r.ID, r.State = response.ID, response.State
	if response.Inputs != nil {
		r.Inputs = *response.Inputs
	}
	return r, nil
}

// TryDelete deletes a resource.
func (p *Provider) TryDelete(r Resource) error {
	return p.Provider.Delete(p.Context, abi.DeleteRequest{
		URN: URN(r.Token), Name: name, Type: r.Token, ID: r.ID, State: r.State, OldInputs: r.Inputs,
	})
}

// Delete deletes a resource.
func (p *Provider) Delete(r Resource) {
	p.T.Helper()
	require.NoError(p.T, p.TryDelete(r))
}

// TryInvoke calls a function with arguments that are right.
func (p *Provider) TryInvoke(token string, args Object) (property.Map, error) {
	p.T.Helper()
	response, err := p.Provider.Invoke(p.Context, abi.InvokeRequest{Token: token, Args: MapOf(args)})
	if err == nil {
		require.Empty(p.T, response.Failures)
	}
	return response.Result, err
}

// Invoke calls a function.
func (p *Provider) Invoke(token string, args Object) property.Map {
	p.T.Helper()
	result, err := p.TryInvoke(token, args)
	require.NoError(p.T, err)
	return result
}

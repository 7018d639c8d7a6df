package host

import (
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/printable"
)

// breach makes an error of a violation of the contract, which is nil where there is none.
func (p *Provider) breach(method string, violation error) error {
	switch v := violation.(type) {
	case nil:
		return nil
	case *abi.Error:
		return p.answered(method, v)
	}
	return p.fail(method, abi.ErrorKindInternal, "the provider broke the contract: "+printable.Line(violation.Error()))
}

// checkIdentity compares what a module says of itself with its manifest.
func (p *Provider) checkIdentity(response abi.HandshakeResponse) error {
	m := p.module.Manifest
	if m == nil || m.Name == response.Name && m.Version == response.Version {
		return nil
	}
	return p.breach("handshake", fmt.Errorf("its manifest says %s %s, but it calls itself %s %s: build it again with `husk provider build`",
		m.Name, m.Version, response.Name, response.Version))
}

// answer is a bag of properties that a provider answered.
type answer struct {
	// what it is, for messages: state, inputs, or result.
	what       string
	properties property.Map
	// preview says that values may be unknown.
	preview bool
	// recorded is what the request says of the resource. What an older version of the
	// provider recorded may be answered again, whatever the schema says now.
	recorded property.Map
	// fits holds the properties to the schema; nil where there is none.
	fits func(property.Map) []abi.CheckFailure
}

func state(m, recorded property.Map, preview bool, declared *schema.Resource) answer {
	a := answer{what: "state", properties: m, recorded: recorded, preview: preview}
	if declared != nil {
		a.fits = declared.Outputs.CheckAnswer
	}
	return a
}

func result(m property.Map, preview bool, declared *schema.Function) answer {
	a := answer{what: "result", properties: m, preview: preview}
	if declared != nil {
		a.fits = declared.CheckAnswer
	}
	return a
}

// check holds an answer to the contract: nothing is unknown, as nothing may be outside of
// a preview; nothing is secret where the provider was offered secrets in the handshake, and
// did not take them; and everything fits the schema.
func (p *Provider) check(a answer) error {
	if path, found := find(property.Object(a.properties), nil, property.Value.IsUnknown); found && !a.preview {
		return fmt.Errorf("the property %s of the %s that it answered is unknown, which only a preview allows", path, a.what)
	}
	if p.knowsNoSecrets.Load() {
		if path, found := find(property.Object(a.properties), nil, isSecret); found {
			return fmt.Errorf("the property %s of the %s that it answered is secret, though it does not say in its handshake that it knows secrets", path, a.what)
		}
	}
	if a.fits != nil {
		if failures := a.fits(a.news()); len(failures) > 0 {
			return fmt.Errorf("the %s that it answered does not fit its schema: %s", a.what, describe(failures))
		}
	}
	return nil
}

// news returns the properties that are not as they were recorded.
func (a answer) news() property.Map {
	if a.recorded.Len() == 0 {
		return a.properties
	}
	var old []string
	for key, value := range a.properties.All() {
		if was, ok := a.recorded.Lookup(key); ok && was.Equal(value) {
			old = append(old, key)
		}
	}
	return a.properties.Without(old...)
}

func isSecret(v property.Value) bool {
	o, ok := v.AsOutput()
	return v.IsSecret() || ok && o.Secret
}

// acceptable returns the properties that keep to the contract.
func (p *Provider) acceptable(a answer) property.Map {
	for _, key := range a.properties.Keys() {
		one := a
		one.properties = property.NewMap(property.Entry{Key: key, Value: a.properties.Get(key)})
		if p.check(one) != nil {
			a.properties = a.properties.Without(key)
		}
	}
	return a.properties
}

// checkCreated holds that a resource that was created has an ID and a state that keeps
// to the contract. Where only the second fails, the resource is not lost: the error has
// its ID, and so the engine keeps it and repairs it later.
func (p *Provider) checkCreated(response abi.CreateResponse, preview bool, declared *schema.Resource) error {
	if response.ID == "" && !preview {
		return errors.New("it created a resource without an ID")
	}
	a := state(response.State, property.Map{}, preview, declared)
	violation := p.check(a)
	if violation == nil || preview {
		return violation
	}
	return &abi.Error{
		Kind: abi.ErrorKindInitFailed, Origin: abi.ErrorOriginHost,
		Message: "the provider broke the contract, but the resource exists",
		InitFailure: &abi.InitFailure{
			ID: response.ID, State: p.acceptable(a), Reasons: []string{violation.Error()},
			RefreshBeforeUpdate: true,
		},
	}
}

// checkFailed holds the error of a method to the contract: a resource that exists in part
// has an ID, which an update does not change, and a state that keeps to the contract. id
// and recorded are those of the request, empty where there are none.
func (p *Provider) checkFailed(method, id string, recorded property.Map, err error, declared *schema.Resource) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Kind != abi.ErrorKindInitFailed {
		return err
	}
	if e.InitFailure == nil {
		return p.breach(method, errors.New("it says that the resource exists in part, but not which: "+e.Message))
	}
	failure := *e.InitFailure
	broken := func(violation string) {
		failure.Reasons = append(failure.Reasons, "the provider broke the contract: "+violation)
	}
	if failure.ID == "" {
		failure.ID = id
	}
	switch {
	case failure.ID == "":
		return p.breach(method, errors.New("it says that the resource exists in part, but not its ID: "+e.Message))
	case method == "update" && failure.ID != id:
		broken(fmt.Sprintf("it answered the ID %q for the resource %q, whose ID no update changes", failure.ID, id))
		failure.ID = id
	}
	a := state(failure.State, recorded, false, declared)
	if violation := p.check(a); violation != nil {
		broken(violation.Error())
		failure.State, failure.RefreshBeforeUpdate = p.acceptable(a), true
	}
	changed := *e
	changed.InitFailure = &failure
	return p.answered(method, &changed)
}

func (p *Provider) checkUpdated(request abi.UpdateRequest, response abi.UpdateResponse, declared *schema.Resource) error {
	if id, ok := response.State.Get("id").Plain().AsString(); ok && request.ID != "" && id != request.ID && !declares(declared, "id") {
		return fmt.Errorf("the state that it answered has the ID %q for the resource %q, whose ID no update changes", id, request.ID)
	}
	return p.check(state(response.State, request.Olds, request.Preview, declared))
}

func declares(r *schema.Resource, output string) bool {
	return r != nil && r.Outputs.Property(output) != nil
}

func (p *Provider) checkRead(request abi.ReadRequest, response abi.ReadResponse, declared *schema.Resource) error {
	if response.ID == "" {
		return nil // it is gone
	}
	if err := p.check(state(response.State, bagOf(request.State), false, declared)); err != nil || response.Inputs == nil {
		return err
	}
	a := answer{what: "inputs", properties: *response.Inputs, recorded: bagOf(request.Inputs)}
	if declared != nil {
		a.fits = declared.Inputs.CheckAnswer
	}
	return p.check(a)
}

// bagOf returns the properties of a request, which are empty where there are none.
func bagOf(m *property.Map) property.Map {
	if m == nil {
		return property.Map{}
	}
	return *m
}

// find answers the path to the first part of a value that is so.
func find(v property.Value, at property.Path, is func(property.Value) bool) (property.Path, bool) {
	if is(v) {
		return at, true
	}
	if inner, ok := v.AsSecret(); ok {
		return find(inner, at, is)
	}
	if o, ok := v.AsOutput(); ok {
		return find(o.Value, at, is)
	}
	if elements, ok := v.AsArray(); ok {
		for i, element := range elements {
			if path, found := find(element, at.Append(property.Index(i)), is); found {
				return path, true
			}
		}
	}
	if m, ok := v.AsObject(); ok {
		for key, value := range m.All() {
			if path, found := find(value, at.Append(property.Key(key)), is); found {
				return path, true
			}
		}
	}
	return nil, false
}

package host

import (
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/printable"
)

// breach makes an error of a violation of the contract, which is nil if there is none.
func (p *Provider) breach(method abi.Method, violation error) error {
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
	return p.breach(abi.MethodHandshake, fmt.Errorf("its manifest says %s %s, but it calls itself %s %s: build it again with `husk provider build`",
		m.Name, m.Version, response.Name, response.Version))
}

// violation returns what in an answer breaks the contract, nil for nothing.
func (p *Provider) violation(c *abi.Call, d declared) error {
	if failures := c.Failures(); failures != nil && len(*failures) > 0 {
		return nil // the rest of the answer means nothing then
	}
	subject := c.Subject()
	preview := subject.Preview && c.Method.Kind() == abi.KindChanges
	switch response := c.Response.(type) {
	case *abi.CheckResponse:
		if d.inputs() == nil {
			return nil
		}
		return p.checkInputs(d.check, c.Request.(*abi.CheckRequest).News, response)
	case *abi.DiffResponse:
		if p.lenient {
			return nil
		}
		return checkDiff(*response, d)
	case *abi.ListResponse:
		return checkListed(*response)
	case *abi.ReadResponse:
		if response.ID == "" {
			return nil // it is gone
		}
	case *abi.CreateResponse:
		if response.ID == "" && !preview {
			return errors.New("it created a resource without an ID")
		}
	case *abi.UpdateResponse:
		if id, ok := response.State.Get("id").Plain().AsString(); ok && subject.ID != "" && id != subject.ID && !d.hasOutput("id") {
			return fmt.Errorf("the state that it answered has the ID %q for the resource %q, whose ID no update changes", id, subject.ID)
		}
	}
	answers, _ := c.AnswerProperties(nil)
	for _, m := range answers {
		a := answer{role: m.Role, properties: m.Get(), recorded: recorded(c, m.Role), preview: preview, declared: d}
		if violation := p.check(a); violation != nil {
			return p.keepCreated(c, a, violation)
		}
	}
	return nil
}

// keepCreated returns a violation in the state of a resource that was created as an error by
// which the resource is not lost: it has the ID, so that the engine keeps the resource and
// repairs it later.
func (p *Provider) keepCreated(c *abi.Call, a answer, violation error) error {
	response, ok := c.Response.(*abi.CreateResponse)
	if !ok || a.preview {
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

// recorded returns what the request says of the last recorded state, of which a map of the
// answer tells anew.
func recorded(c *abi.Call, role abi.Role) property.Map {
	for _, m := range c.RequestProperties() {
		if role == abi.RoleState && m.Role == abi.RoleOldState || role == abi.RoleInputs && m.Role == abi.RoleOldInputs {
			return m.Get()
		}
	}
	return property.Map{}
}

// checkFailed holds the error of a call about a resource to the contract: a resource that
// exists in part has an ID, which an update does not change, and a state that keeps to the
// contract.
func (p *Provider) checkFailed(c *abi.Call, d declared, err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Kind != abi.ErrorKindInitFailed || c.Method.About() != abi.AboutResource || c.Method.Kind() == abi.KindAsks || !c.HasProperties() {
		return err
	}
	if e.InitFailure == nil {
		return p.breach(c.Method, errors.New("it says that the resource exists in part, but not which: "+e.Message))
	}
	id := c.Subject().ID
	failure := *e.InitFailure
	broken := func(violation string) {
		failure.Reasons = append(failure.Reasons, "the provider broke the contract: "+violation)
	}
	if failure.ID == "" {
		failure.ID = id
	}
	switch {
	case failure.ID == "":
		return p.breach(c.Method, errors.New("it says that the resource exists in part, but not its ID: "+e.Message))
	case c.Method == abi.MethodUpdate && failure.ID != id:
		broken(fmt.Sprintf("it answered the ID %q for the resource %q, whose ID no update changes", failure.ID, id))
		failure.ID = id
	}
	a := answer{role: abi.RoleState, properties: failure.State, recorded: recorded(c, abi.RoleState), declared: d}
	if violation := p.check(a); violation != nil {
		broken(violation.Error())
		failure.State, failure.RefreshBeforeUpdate = p.acceptable(a), true
	}
	changed := *e
	changed.InitFailure = &failure
	return p.answered(c.Method, &changed)
}

// deletesFirst has a resource deleted before it is replaced if the replacement would have
// the identity of the old one, and the provider could not know that.
func (p *Provider) deletesFirst(c *abi.Call, d declared, err error) error {
	request, ok := c.Request.(*abi.DiffRequest)
	if !ok || d.resource == nil || len(d.resource.Identity) == 0 || p.lenient || !d.resource.DeletesFirst(*request) {
		return err
	}
	response := c.Response.(*abi.DiffResponse)
	if errors.Is(err, abi.ErrUnimplemented) {
		*response, err = abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	response.DeleteBeforeReplace = true
	return err
}

// answer is a property map that a provider answered.
type answer struct {
	role       abi.Role
	properties property.Map
	// preview says that values may be unknown.
	preview bool
	// recorded is what the request says of the resource. What an older version of the
	// provider recorded may be answered again, whatever the schema says now.
	recorded property.Map
	declared declared
}

// what is the name of the map in messages.
func (a answer) what() string {
	switch a.role {
	case abi.RoleState:
		return "state"
	case abi.RoleResult:
		return "result"
	}
	return "inputs"
}

// check holds an answer to the contract: nothing is unknown, as nothing may be outside of
// a preview; nothing is secret if the provider was offered secrets in the handshake, and
// did not take them; and everything fits the schema.
func (p *Provider) check(a answer) error {
	if path, found := property.Object(a.properties).Find(property.Value.IsUnknown); found && !a.preview {
		return fmt.Errorf("the property %s of the %s that it answered is unknown, which only a preview allows", path, a.what())
	}
	if p.knowsNoSecrets.Load() {
		if path, found := property.Object(a.properties).Find(isSecret); found {
			return fmt.Errorf("the property %s of the %s that it answered is secret, though it does not say in its handshake that it knows secrets", path, a.what())
		}
	}
	if a.declared == (declared{}) {
		return nil
	}
	if failures := a.declared.checkAnswer(a.role, a.news()); len(failures) > 0 {
		return fmt.Errorf("the %s that it answered does not fit its schema: %s", a.what(), describe(failures))
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

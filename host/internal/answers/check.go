package answers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// Rules are the rules that the responses of a provider keep to.
type Rules struct {
	// Lenient allows diffs that cannot be.
	Lenient bool
	// NoSecrets is set if the provider was offered secrets in the handshake, and did not take them.
	NoSecrets bool
}

// Violation returns the breach of the contract in a response, nil for none. It is an *[abi.Error] if a resource was created or
// updated all the same.
func (r Rules) Violation(c *abi.Call, d Declared) error {
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
		return checkInputs(d.check, c.Request.(*abi.CheckRequest).News, response)
	case *abi.DiffResponse:
		if r.Lenient {
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
		if violation := r.check(a); violation != nil {
			return r.keepMade(c, a, violation)
		}
	}
	return nil
}

// keepMade returns a violation by a resource that was created or updated as an error with its ID, so that the engine keeps the
// resource and repairs it later. Faulty parts of an update's answer keep their recorded values.
func (r Rules) keepMade(c *abi.Call, a answer, violation error) error {
	var id string
	switch response := c.Response.(type) {
	case *abi.CreateResponse:
		id = response.ID
	case *abi.UpdateResponse:
		id = c.Subject().ID
	}
	if id == "" || a.preview {
		return violation
	}
	state := r.acceptable(a)
	for key, was := range a.recorded.All() {
		if a.properties.Has(key) && !state.Has(key) {
			state = state.With(key, was)
		}
	}
	return &abi.Error{
		Kind: abi.ErrorKindInitFailed, Origin: abi.ErrorOriginHost,
		Message: "the provider broke the contract, but the resource exists",
		InitFailure: &abi.InitFailure{
			ID: id, State: state, Reasons: []string{violation.Error()},
			RefreshBeforeUpdate: true,
		},
	}
}

// recorded returns the request's properties of the last recorded state, which a map of the answer replaces.
func recorded(c *abi.Call, role abi.Role) property.Map {
	for _, m := range c.RequestProperties() {
		if role == abi.RoleState && m.Role == abi.RoleOldState || role == abi.RoleInputs && m.Role == abi.RoleOldInputs {
			return m.Get()
		}
	}
	return property.Map{}
}

// CheckFailed holds the error of a call about a resource to the contract: a resource that exists in part has
// an ID, which an update does not change, and a good state.
//
// It returns an *[abi.Error] or a violation in place of the error; nil keeps the error.
func (r Rules) CheckFailed(c *abi.Call, d Declared, err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Kind != abi.ErrorKindInitFailed || c.Method.About() != abi.AboutResource || c.Method.Kind() == abi.KindAsks || !c.HasProperties() {
		return nil
	}
	if e.InitFailure == nil {
		return errors.New("it says that the resource exists in part, but not which: " + e.Message)
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
		return errors.New("it says that the resource exists in part, but not its ID: " + e.Message)
	case c.Method == abi.MethodUpdate && failure.ID != id:
		broken(fmt.Sprintf("it answered the ID %q for the resource %q, whose ID no update changes", failure.ID, id))
		failure.ID = id
	}
	a := answer{role: abi.RoleState, properties: failure.State, recorded: recorded(c, abi.RoleState), declared: d}
	if violation := r.check(a); violation != nil {
		broken(violation.Error())
		failure.State, failure.RefreshBeforeUpdate = r.acceptable(a), true
	}
	changed := *e
	changed.InitFailure = &failure
	return &changed
}

// CheckResult holds a result of a stream to the contract.
func (r Rules) CheckResult(result property.Map, d Declared) error {
	return r.check(answer{role: abi.RoleResult, properties: result, declared: d})
}

// answer is a property map that a provider answered.
type answer struct {
	role       abi.Role
	properties property.Map
	// preview says that values may be unknown.
	preview bool
	// recorded is the resource's state in the request. An answer may repeat it, whatever the schema says.
	recorded property.Map
	declared Declared
}

// what returns the name of the map in messages.
func (a answer) what() string {
	switch a.role {
	case abi.RoleState:
		return "state"
	case abi.RoleResult:
		return "result"
	}
	return "inputs"
}

// check holds an answer to the contract: unknowns in a preview only, no secrets that were not negotiated, and
// all of it fits the schema.
func (r Rules) check(a answer) error {
	if path, found := property.Object(a.properties).Find(property.Value.IsUnknown); found && !a.preview {
		return fmt.Errorf("the property %s of the %s that it answered is unknown, which only a preview allows", path, a.what())
	}
	if r.NoSecrets {
		if path, found := property.Object(a.properties).Find(isSecret); found {
			return fmt.Errorf("the property %s of the %s that it answered is secret, though it does not say in its handshake that it knows secrets", path, a.what())
		}
	}
	if a.declared == (Declared{}) {
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
func (r Rules) acceptable(a answer) property.Map {
	for _, key := range a.properties.Keys() {
		one := a
		one.properties = property.NewMap(property.Entry{Key: key, Value: a.properties.Get(key)})
		if r.check(one) != nil {
			a.properties = a.properties.Without(key)
		}
	}
	return a.properties
}

// checkInputs holds inputs that the provider lets pass to its schema. Failures in the given inputs are the
// program's, and added to the answer. Others are the provider's.
func checkInputs(check func(property.Map) (property.Map, []abi.CheckFailure), given property.Map, response *abi.CheckResponse) error {
	if len(response.Failures) > 0 {
		return nil // the inputs mean nothing then
	}
	_, failures := check(withoutReserved(response.Inputs))
	if len(failures) == 0 {
		return nil
	}
	_, ofGiven := check(withoutReserved(given))
	var broken []abi.CheckFailure
	for _, f := range failures {
		if slices.Contains(ofGiven, f) {
			response.Failures = append(response.Failures, f)
		} else {
			broken = append(broken, f)
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("the inputs that it answered do not fit its schema: %s", describe(broken))
	}
	return nil
}

// withoutReserved leaves out what providers keep in inputs for themselves.
func withoutReserved(m property.Map) property.Map {
	var reserved []string
	for _, e := range m.Entries() {
		if strings.HasPrefix(e.Key, "__") {
			reserved = append(reserved, e.Key)
		}
	}
	if reserved == nil {
		return m
	}
	return m.Without(reserved...)
}

// checkDiff checks that the changed paths of a provider's diff are properties, each once: of these inputs and outputs, if the
// schema declares them.
func checkDiff(response abi.DiffResponse, d Declared) error {
	declared := d.compared()
	seen := make(map[string]bool, len(response.DetailedDiff))
	for _, d := range response.DetailedDiff {
		if seen[d.Path] {
			return fmt.Errorf("its detailed diff has the path %s twice", d.Path)
		}
		seen[d.Path] = true
		if err := checkPath(d.Path, declared); err != nil {
			return fmt.Errorf("its detailed diff has %w", err)
		}
	}
	for _, list := range []struct {
		name string
		keys []string
	}{{"replace", response.ReplaceKeys}, {"stable", response.StableKeys}, {"changed", response.ChangedKeys}} {
		for _, key := range list.keys {
			if slices.ContainsFunc(declared, func(o *schema.Object) bool { return o.Property(key) != nil }) {
				continue // its name need not be a path
			}
			if err := checkPath(key, declared); err != nil {
				return fmt.Errorf("its %s keys have %w", list.name, err)
			}
		}
	}
	return nil
}

// checkPath holds that a path leads to a property, and begins with one of the schema's.
func checkPath(text string, declared []*schema.Object) error {
	path, err := property.ParsePath(text)
	if err != nil {
		return fmt.Errorf("the path %q, which is none: %w", text, err)
	}
	if len(path) == 0 || path.IsPattern() {
		return fmt.Errorf("the path %q, which leads to no property", text)
	}
	name, ok := path[0].Key()
	if !ok {
		return fmt.Errorf("the path %q, which does not begin with the name of a property", text)
	}
	if len(declared) == 0 || strings.HasPrefix(name, "__") || name == "id" || name == "urn" {
		return nil
	}
	var names []string
	for _, o := range declared {
		if o.Property(name) != nil {
			return nil
		}
		names = append(names, o.Names()...)
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("the path %q, whose property its schema does not have; %q is near", text, near)
	}
	return fmt.Errorf("the path %q, whose property its schema does not have", text)
}

// maxDescribed bounds how many failures a message tells.
const maxDescribed = 3

// describe lists failures of a check as part of a message.
func describe(failures []abi.CheckFailure) string {
	var parts []string
	for i, f := range failures {
		if i == maxDescribed {
			parts = append(parts, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		parts = append(parts, strings.TrimPrefix(f.Path+": "+f.Reason, ": "))
	}
	return strings.Join(parts, "; ")
}

// checkListed checks that listed objects can be read.
func checkListed(response abi.ListResponse) error {
	for _, r := range response.Resources {
		if r.ID == "" {
			return errors.New("it lists a resource without an ID")
		}
	}
	return nil
}

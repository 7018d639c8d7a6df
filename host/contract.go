package host

import (
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// breach makes an error of a violation of the contract, which is nil where there is none.
func (p *Provider) breach(method string, violation error) error {
	switch v := violation.(type) {
	case nil:
		return nil
	case *abi.Error:
		return p.answered(method, v)
	}
	return p.fail(method, abi.ErrorKindInternal, "the provider broke the contract: "+violation.Error())
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

// checkCreated holds that a resource that was created has an ID and is known. Where
// only the second fails, the resource is not lost: the error has its ID, and so the
// engine keeps it and repairs it later.
func checkCreated(response abi.CreateResponse) error {
	if response.ID == "" {
		return fmt.Errorf("it created a resource without an ID")
	}
	violation := checkKnown("state", response.State)
	if violation == nil {
		return nil
	}
	known := response.State
	for key, value := range response.State.All() {
		if _, found := findUnknown(value, nil); found {
			known = known.Without(key)
		}
	}
	return &abi.Error{
		Kind: abi.ErrorKindInitFailed, Origin: abi.ErrorOriginHost,
		Message: "the provider broke the contract, but the resource exists",
		InitFailure: &abi.InitFailure{
			ID: response.ID, State: known, Reasons: []string{violation.Error()},
			RefreshBeforeUpdate: true,
		},
	}
}

func checkRead(response abi.ReadResponse) error {
	if err := checkKnown("state", response.State); err != nil {
		return err
	}
	if response.Inputs != nil {
		return checkKnown("inputs", *response.Inputs)
	}
	return nil
}

// checkKnown holds that nothing is unknown, as nothing may be outside of a preview.
func checkKnown(what string, m property.Map) error {
	path, found := findUnknown(property.Object(m), nil)
	if !found {
		return nil
	}
	return fmt.Errorf("the property %s of the %s that it answered is unknown, which only a preview allows", path, what)
}

// findUnknown answers the path to the first unknown part of a value.
func findUnknown(v property.Value, at property.Path) (property.Path, bool) {
	v = v.Plain()
	if v.IsUnknown() {
		return at, true
	}
	if elements, ok := v.AsArray(); ok {
		for i, element := range elements {
			if path, found := findUnknown(element, at.Append(property.Index(i))); found {
				return path, true
			}
		}
	}
	if m, ok := v.AsObject(); ok {
		for key, value := range m.All() {
			if path, found := findUnknown(value, at.Append(property.Key(key))); found {
				return path, true
			}
		}
	}
	return nil, false
}

package answers

import (
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/schema"
)

// Checks and Diffs that follow from the schema alone are answered by the host, with the code of guests. All
// else is left to the guest: errors are always its own.

// Answer makes the response to a call if the schema determines it; else it returns false. Most bounds each property map, in bytes
// of its encoding.
func (d Declared) Answer(c *abi.Call, most int) bool {
	if !passes(c.RequestProperties(), most) {
		return false
	}
	switch request := c.Request.(type) {
	case *abi.CheckRequest:
		if !AreTexts(string(request.URN), request.Name, request.Type) {
			return false
		}
		inputs, failures := d.check(request.News)
		if !inputs.Is(request.News) && !Encodable(inputs, most) {
			return false
		}
		*c.Response.(*abi.CheckResponse) = abi.CheckResponse{Inputs: inputs, Failures: failures}
	case *abi.DiffRequest:
		if !AreTexts(string(request.URN), request.Name, request.Type, request.ID) || !AreTexts(request.IgnoreChanges...) {
			return false
		}
		response, err := d.diff(*request)
		if err != nil {
			return false
		}
		*c.Response.(*abi.DiffResponse) = response
	}
	return true
}

// RefusesArguments checks the arguments of a function, or the inputs of a component, where the schema says that the host does. The
// response or the error says why they are refused; others are the request's from here on.
func (d Declared) RefusesArguments(c *abi.Call) (refused bool, why *abi.Error) {
	var of *schema.Object
	var m *property.Map
	switch request := c.Request.(type) {
	case *abi.InvokeRequest:
		if d.function != nil && d.function.SchemaCheck {
			of, m = &d.function.Args, &request.Args
		}
	case *abi.ConstructRequest:
		if d.resource != nil && d.resource.SchemaCheck {
			of, m = &d.resource.Inputs, &request.Inputs
		}
	}
	if of == nil {
		return false, nil
	}
	checked, failures := of.Check(*m)
	if len(failures) == 0 {
		*m = checked
		return false, nil
	}
	if response, ok := c.Response.(*abi.InvokeResponse); ok {
		*response = abi.InvokeResponse{Failures: failures}
		return true, nil
	}
	return true, abi.NewRefusal(failures)
}

// Answers reports whether the schema says what a method responds.
func (d Declared) Answers(method abi.Method) bool {
	switch method {
	case abi.MethodCheckConfig:
		return d.pkg != nil && d.pkg.SchemaCheckConfig
	case abi.MethodDiffConfig:
		return d.pkg != nil && d.pkg.SchemaDiffConfig
	case abi.MethodCheck:
		return d.resource != nil && d.resource.SchemaCheck
	case abi.MethodDiff:
		return d.resource != nil && d.resource.SchemaDiff
	}
	return false
}

// diff compares configurations or inputs, for which there must be a schema.
func (d Declared) diff(request abi.DiffRequest) (abi.DiffResponse, error) {
	if d.pkg != nil {
		return d.pkg.DiffConfig(request)
	}
	return d.resource.Diff(request)
}

// DeletesFirst has a resource deleted before it is replaced by one of the same identity, which the provider
// cannot know. It returns the error of the call, nil if the provider does not compare.
func (d Declared) DeletesFirst(c *abi.Call, err error) error {
	request, ok := c.Request.(*abi.DiffRequest)
	if !ok || d.resource == nil || len(d.resource.Identity) == 0 || !d.resource.DeletesFirst(*request) {
		return err
	}
	response := c.Response.(*abi.DiffResponse)
	if errors.Is(err, abi.ErrUnimplemented) {
		*response, err = abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	response.DeleteBeforeReplace = true
	return err
}

// AreTexts reports whether texts could be passed to a guest.
func AreTexts(texts ...string) bool {
	for _, text := range texts {
		if !property.ValidText(text) {
			return false
		}
	}
	return true
}

// passes reports whether the property maps of a request could be passed to a guest.
func passes(request []abi.Properties, most int) bool {
	for i, properties := range request {
		m := properties.Get()
		if i > 0 && request[i-1].Get().Is(m) {
			continue
		}
		if !Encodable(m, most) {
			return false
		}
	}
	return true
}

// Encodable reports whether the encoding of a property map has so many bytes at most.
func Encodable(m property.Map, most int) bool {
	size, ok := guestcbor.Size(m)
	return ok && size <= most
}

// dropUnfitDefaults leaves checks to the guest if the schema's defaults do not fit it themselves.
func dropUnfitDefaults(pkg *schema.Package) {
	pkg.SchemaCheckConfig = pkg.SchemaCheckConfig && defaultsFitSchema(&pkg.Config, make(map[*schema.Object]bool))
	for _, r := range pkg.Resources {
		r.SchemaCheck = r.SchemaCheck && defaultsFitSchema(&r.Inputs, make(map[*schema.Object]bool))
	}
}

// defaultsFitSchema reports whether the defaults of an object, and of the objects in it, fit the schema.
func defaultsFitSchema(o *schema.Object, seen map[*schema.Object]bool) bool {
	if seen[o] {
		return true
	}
	seen[o] = true
	for i := range o.Properties {
		p := &o.Properties[i]
		alone := schema.Object{Properties: o.Properties[i : i+1]}
		if p.HasDefault() {
			if _, failures := alone.Check(property.NewMap(property.Entry{Key: p.Name, Value: p.Default})); len(failures) > 0 {
				return false
			}
		}
		if !defaultsFitIn(p.Type, seen) {
			return false
		}
	}
	return true
}

// defaultsFitIn is defaultsFitSchema for the objects in a type.
func defaultsFitIn(t *schema.Type, seen map[*schema.Object]bool) bool {
	if t == nil {
		return true
	}
	for _, alternative := range t.OneOf {
		if !defaultsFitIn(alternative, seen) {
			return false
		}
	}
	return (t.Object == nil || defaultsFitSchema(t.Object, seen)) && defaultsFitIn(t.Element, seen)
}

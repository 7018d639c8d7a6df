package host

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/schema"
)

// A resource type whose schema says that its Check or Diff does what the schema says, and
// nothing else, is answered by the host, with the code that guests have it from. What could
// be answered in any other way is left to the guest: errors are always its own.

// answerBySchema answers a call if the schema does. It returns false if the guest is to be
// asked. A provider need not be configured for what is about its configuration.
func (p *Provider) answerBySchema(ctx context.Context, c *abi.Call, d declared) bool {
	if !d.answers(c.Method) || !p.mayAnswer(ctx) || d.resource != nil && !p.isConfigured.Load() || !p.passes(c.RequestProperties()) {
		return false
	}
	switch request := c.Request.(type) {
	case *abi.CheckRequest:
		if !areTexts(string(request.URN), request.Name, request.Type) {
			return false
		}
		inputs, failures := d.check(request.News)
		if !inputs.Is(request.News) && !p.encodable(inputs) {
			return false
		}
		*c.Response.(*abi.CheckResponse) = abi.CheckResponse{Inputs: inputs, Failures: failures}
	case *abi.DiffRequest:
		if !areTexts(string(request.URN), request.Name, request.Type, request.ID) || !areTexts(request.IgnoreChanges...) {
			return false
		}
		response, err := d.diff(*request)
		if err != nil {
			return false
		}
		*c.Response.(*abi.DiffResponse) = response
	}
	p.counters.answeredBySchema(c.Method)
	return true
}

// answers reports whether the schema says what a method answers.
func (d declared) answers(method abi.Method) bool {
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
func (d declared) diff(request abi.DiffRequest) (abi.DiffResponse, error) {
	if d.pkg != nil {
		return d.pkg.DiffConfig(request)
	}
	return d.resource.Diff(request)
}

// mayAnswer reports whether a guest would be asked now, and may be answered for: the provider
// is neither closed nor in quarantine.
func (p *Provider) mayAnswer(ctx context.Context) bool {
	return !p.askGuest && ctx.Err() == nil && !p.isClosed() && p.health.Quarantine() == nil
}

// areTexts reports whether texts could be passed to a guest.
func areTexts(texts ...string) bool {
	for _, text := range texts {
		if !property.ValidText(text) {
			return false
		}
	}
	return true
}

// passes reports whether the property maps of a request could be passed to a guest.
func (p *Provider) passes(request []abi.Properties) bool {
	for i, properties := range request {
		m := properties.Get()
		if i > 0 && request[i-1].Get().Is(m) {
			continue
		}
		if !p.encodable(m) {
			return false
		}
	}
	return true
}

// encodable reports whether a property map could be passed to a guest, or by it.
func (p *Provider) encodable(m property.Map) bool {
	size, ok := guestcbor.Size(m)
	return ok && size <= p.module.host.config.limits.RequestBytes
}

// dropUnfitDefaults takes back that a schema answers checks if inputs that it makes of good
// ones do not fit it themselves, because its defaults do not. The guest answers
// such inputs, and is told so.
func dropUnfitDefaults(pkg *schema.Package) {
	pkg.SchemaCheckConfig = pkg.SchemaCheckConfig && defaultsFitSchema(&pkg.Config, make(map[*schema.Object]bool))
	for _, r := range pkg.Resources {
		r.SchemaCheck = r.SchemaCheck && defaultsFitSchema(&r.Inputs, make(map[*schema.Object]bool))
	}
}

// defaultsFitSchema reports whether the defaults of an object fit it, and those of the objects in it.
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

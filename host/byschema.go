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

// checkBySchema answers Check where the schema does; false where the guest is to be asked.
func (p *Provider) checkBySchema(ctx context.Context, declared *schema.Resource, request *abi.CheckRequest) (response abi.CheckResponse, ok bool) {
	if declared == nil || !declared.SchemaCheck || !p.answersItself(ctx) ||
		!passes(string(request.URN), request.Name, request.Type) || !p.crosses(request.News, bagOf(request.Olds)) {
		return response, false
	}
	response.Inputs, response.Failures = declared.Inputs.Check(request.News)
	if !p.crosses(response.Inputs) {
		return response, false
	}
	p.counters.answeredBySchema("check")
	return response, true
}

// diffBySchema is checkBySchema for Diff.
func (p *Provider) diffBySchema(ctx context.Context, declared *schema.Resource, request *abi.DiffRequest) (response abi.DiffResponse, ok bool) {
	if declared == nil || !declared.SchemaDiff || !p.answersItself(ctx) || !p.asksDiff(request) {
		return response, false
	}
	response, err := declared.Diff(*request)
	if err != nil {
		return response, false
	}
	p.counters.answeredBySchema("diff")
	return response, true
}

// checkConfigBySchema is checkBySchema for CheckConfig. A provider need not be configured for it.
func (p *Provider) checkConfigBySchema(ctx context.Context, pkg *schema.Package, request *abi.CheckRequest) (response abi.CheckResponse, ok bool) {
	if pkg == nil || !pkg.SchemaCheckConfig || !p.mayAnswer(ctx) ||
		!passes(string(request.URN), request.Name, request.Type) || !p.crosses(request.News, bagOf(request.Olds)) {
		return response, false
	}
	response.Inputs, response.Failures = pkg.Config.CheckConfig(request.News)
	if !p.crosses(response.Inputs) {
		return response, false
	}
	p.counters.answeredBySchema("check-config")
	return response, true
}

// diffConfigBySchema is checkConfigBySchema for DiffConfig.
func (p *Provider) diffConfigBySchema(ctx context.Context, pkg *schema.Package, request *abi.DiffRequest) (response abi.DiffResponse, ok bool) {
	if pkg == nil || !pkg.SchemaDiffConfig || !p.mayAnswer(ctx) || !p.asksDiff(request) {
		return response, false
	}
	response, err := pkg.DiffConfig(*request)
	if err != nil {
		return response, false
	}
	p.counters.answeredBySchema("diff-config")
	return response, true
}

// asksDiff tells whether a guest could be asked.
func (p *Provider) asksDiff(request *abi.DiffRequest) bool {
	return passes(string(request.URN), request.Name, request.Type, request.ID) && passes(request.IgnoreChanges...) &&
		p.crosses(request.Olds, request.News, request.OldInputs)
}

// answersItself tells whether a provider that is set up would be asked now, and may be
// answered for.
func (p *Provider) answersItself(ctx context.Context) bool {
	return p.isConfigured.Load() && p.mayAnswer(ctx)
}

// mayAnswer tells whether a guest would be asked now, and may be answered for: the provider
// is neither closed nor in quarantine.
func (p *Provider) mayAnswer(ctx context.Context) bool {
	return !p.askGuest && ctx.Err() == nil && !p.isClosed() && p.health.admit() == nil
}

// passes tells whether texts could be passed to a guest.
func passes(texts ...string) bool {
	for _, text := range texts {
		if !property.ValidText(text) {
			return false
		}
	}
	return true
}

// crosses tells whether property values could be passed to a guest, or by it: they are
// encoded, and what they become is dropped.
func (p *Provider) crosses(bags ...property.Map) bool {
	h := p.module.host
	buffer := h.buffers.take()
	defer h.buffers.put(buffer)
	for _, bag := range bags {
		data, err := guestcbor.Append((*buffer)[:0], bag)
		if err != nil || len(data) > h.config.most.requestBytes {
			return false
		}
		*buffer = data
	}
	return true
}

// withoutUnsettled takes back what a schema says of a resource where the inputs that it
// makes of good ones do not fit it themselves, as its defaults do not. The guest answers
// such inputs, and is told so.
func withoutUnsettled(pkg *schema.Package) {
	pkg.SchemaCheckConfig = pkg.SchemaCheckConfig && settles(&pkg.Config, make(map[*schema.Object]bool))
	for _, r := range pkg.Resources {
		r.SchemaCheck = r.SchemaCheck && settles(&r.Inputs, make(map[*schema.Object]bool))
	}
}

// settles tells whether the defaults of an object fit it, and those of the objects in it.
func settles(o *schema.Object, seen map[*schema.Object]bool) bool {
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
		if !settlesIn(p.Type, seen) {
			return false
		}
	}
	return true
}

// settlesIn is settles for the objects in a type.
func settlesIn(t *schema.Type, seen map[*schema.Object]bool) bool {
	if t == nil {
		return true
	}
	for _, alternative := range t.OneOf {
		if !settlesIn(alternative, seen) {
			return false
		}
	}
	return (t.Object == nil || settles(t.Object, seen)) && settlesIn(t.Element, seen)
}

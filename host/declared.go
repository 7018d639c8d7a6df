package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/printable"
)

// declaration is the schema of one package. It is asked for when it is first needed,
// and kept.
type declaration struct {
	// name and version are those of an extension of the provider; empty for the
	// provider's own package.
	name, version string
	// answers are the module's, nil for a package that it becomes or is extended with.
	answers *answers
	// turn is full while somebody asks.
	turn chan struct{}
	// asked is set after schema, which is nil where there is none, or none that can be read.
	asked  atomic.Bool
	schema *schema.Package
}

func newDeclaration(name, version string) *declaration {
	return &declaration{name: name, version: version, turn: make(chan struct{}, 1)}
}

// of returns the schema, asking p for it where nobody did. A provider without a schema
// is not held to any.
func (d *declaration) of(ctx context.Context, p *Provider) *schema.Package {
	if d.asked.Load() {
		return d.schema
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil
	}
	if d.asked.Load() {
		return d.schema
	}
	text, err := d.text(ctx, p)
	if ctx.Err() != nil || errors.Is(err, abi.ErrUnavailable) || errors.Is(err, abi.ErrCancelled) {
		return nil // the next call may have more luck
	}
	defer d.asked.Store(true)
	if err == nil && text != "" {
		if d.schema, err = schemajson.Parse([]byte(text)); err == nil {
			withoutUnsettled(d.schema)
			if d.answers != nil {
				d.answers.declared(text, d.schema.Deferred)
			}
		}
	}
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		p.logger.LogAttrs(ctx, slog.LevelWarn, "the provider's schema cannot be read, so that its answers are not held to it: "+printable.Line(err.Error()),
			slog.String(LogProvider, p.identity.Load().name), slog.String(LogMethod, "get-schema"), slog.Bool(LogOfHost, true))
	}
	return d.schema
}

// text returns the schema as the provider writes it, or has written it before.
func (d *declaration) text(ctx context.Context, p *Provider) (string, error) {
	if d.answers != nil && !p.askGuest {
		if text := d.answers.schema(); text != "" {
			return text, nil
		}
	}
	response, err := call(ctx, &p.sandbox, "get-schema", abi.GetSchemaRequest{SubpackageName: d.name, SubpackageVersion: d.version}, (*canon.Guest).GetSchema)
	return response.Schema, err
}

// declarations are the schemas of the packages that a provider serves.
type declarations struct {
	mu         sync.Mutex
	own        *declaration
	extensions map[string]*declaration
}

// become is called when parameters made the provider into another package, or extended it.
func (d *declarations) become(response abi.ParameterizeResponse, extension bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !extension {
		d.own, d.extensions = newDeclaration("", ""), nil
		return
	}
	if d.extensions == nil {
		d.extensions = make(map[string]*declaration)
	}
	d.extensions[response.Name] = newDeclaration(response.Name, response.Version)
}

func (d *declarations) of(pkg string) *declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if extension := d.extensions[pkg]; extension != nil {
		return extension
	}
	return d.own
}

// isItself tells whether the provider is the module's own package, which parameters have not
// made into another.
func (p *Provider) isItself() bool { return p.declared.of("") == p.module.declared }

// declares returns the schema of the package that a token belongs to, nil where the
// provider is not held to any.
func (p *Provider) declares(ctx context.Context, token string) *schema.Package {
	if p.lenient {
		return nil
	}
	pkg, _, _ := strings.Cut(token, ":")
	return p.declared.of(pkg).of(ctx, p)
}

// declaredResource returns what the schema says of a type of resource, which the URN has
// where the request does not; nil for nothing.
func (p *Provider) declaredResource(ctx context.Context, token string, u urn.URN) *schema.Resource {
	if token == "" {
		token = u.Type()
	}
	if pkg := p.declares(ctx, token); pkg != nil {
		return pkg.Resource(token)
	}
	return nil
}

// declaredFunction returns what the schema says of a function, nil for nothing.
func (p *Provider) declaredFunction(ctx context.Context, token string) *schema.Function {
	if pkg := p.declares(ctx, token); pkg != nil {
		return pkg.Function(token)
	}
	return nil
}

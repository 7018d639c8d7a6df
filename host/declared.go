package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host/internal/answers"
	"github.com/husk-dev/husk/internal/printable"
)

// packageSchema is the schema of one package. It is asked for when it is first needed,
// and kept.
type packageSchema struct {
	// name and version are those of an extension of the provider; empty for the
	// provider's own package.
	name, version string
	// answers are the module's, nil for a package that it becomes or is extended with.
	answers *answers.Module
	// turn is full while somebody asks.
	turn chan struct{}
	// asked is set after schema, which is nil if there is none that can be read.
	asked  atomic.Bool
	schema *schema.Package
}

func newPackageSchema(name, version string) *packageSchema {
	return &packageSchema{name: name, version: version, turn: make(chan struct{}, 1)}
}

// load returns the schema, for which it asks p if nobody did. A provider without a schema
// is not held to any.
func (d *packageSchema) load(ctx context.Context, p *Provider) *schema.Package {
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
			dropUnfitDefaults(d.schema)
			if d.answers != nil {
				d.answers.NoteSchema(text, d.schema.Deferred)
			}
		}
	}
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		p.logger.LogAttrs(ctx, slog.LevelWarn, "the provider's schema cannot be read, so that its answers are not held to it: "+printable.Line(err.Error()),
			slog.String(LogProvider, p.identity.Load().name), slog.String(LogMethod, string(abi.MethodGetSchema)), slog.Bool(LogOfHost, true))
	}
	return d.schema
}

// text returns the schema as the provider writes it, or has written it before.
func (d *packageSchema) text(ctx context.Context, p *Provider) (string, error) {
	if d.answers != nil && !p.askGuest {
		if text := d.answers.Schema(); text != "" {
			return text, nil
		}
	}
	response, err := p.calls.GetSchema(ctx, abi.GetSchemaRequest{SubpackageName: d.name, SubpackageVersion: d.version})
	return response.Schema, err
}

// packageSchemas are the schemas of the packages that a provider serves.
type packageSchemas struct {
	mu         sync.Mutex
	own        *packageSchema
	extensions map[string]*packageSchema
}

// become is called when parameters made the provider into another package, or extended it.
func (d *packageSchemas) become(response abi.ParameterizeResponse, extension bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !extension {
		d.own, d.extensions = newPackageSchema("", ""), nil
		return
	}
	if d.extensions == nil {
		d.extensions = make(map[string]*packageSchema)
	}
	d.extensions[response.Name] = newPackageSchema(response.Name, response.Version)
}

func (d *packageSchemas) find(pkg string) *packageSchema {
	d.mu.Lock()
	defer d.mu.Unlock()
	if extension := d.extensions[pkg]; extension != nil {
		return extension
	}
	return d.own
}

// isItself reports whether the provider is the module's own package, which parameters have not
// made into another.
func (p *Provider) isItself() bool { return p.packages.find("") == p.module.declared }

// declares returns the schema of the package that a token belongs to, nil if the
// provider is not held to any.
func (p *Provider) declares(ctx context.Context, token string) *schema.Package {
	if p.lenient {
		return nil
	}
	pkg, _, _ := strings.Cut(token, ":")
	return p.packages.find(pkg).load(ctx, p)
}

// declared is what the schema says of what a call is about; the zero declared is nothing.
type declared struct {
	// pkg is set for a configuration.
	pkg      *schema.Package
	resource *schema.Resource
	function *schema.Function
}

// declaredOf returns what the schema says of the subject of a call. A resource of which only
// the URN is known is of the type that the URN has.
func (p *Provider) declaredOf(ctx context.Context, method abi.Method, subject abi.Subject) (d declared) {
	token := subject.Token
	if token == "" {
		token = subject.URN.Type()
	}
	about := method.About()
	if about == abi.AboutConfiguration {
		token = ""
	}
	pkg := p.declares(ctx, token)
	switch {
	case pkg == nil:
	case about == abi.AboutConfiguration:
		d.pkg = pkg
	default:
		if about != abi.AboutFunction {
			d.resource = pkg.Resource(token)
		}
		if about != abi.AboutResource {
			d.function = pkg.Function(token)
		}
	}
	return d
}

// inputs returns the schema of configurations or inputs, nil for none.
func (d declared) inputs() *schema.Object {
	switch {
	case d.pkg != nil:
		return &d.pkg.Config
	case d.resource != nil:
		return &d.resource.Inputs
	}
	return nil
}

// check checks configurations or inputs, for which there must be a schema.
func (d declared) check(m property.Map) (property.Map, []abi.CheckFailure) {
	if d.pkg != nil {
		return d.pkg.Config.CheckConfig(m)
	}
	return d.resource.Inputs.Check(m)
}

// checkAnswer returns what of a map in an answer does not fit the schema.
func (d declared) checkAnswer(role abi.Role, m property.Map) []abi.CheckFailure {
	switch {
	case role == abi.RoleResult && d.function != nil:
		return d.function.CheckAnswer(m)
	case role == abi.RoleState && d.resource != nil:
		return d.resource.Outputs.CheckAnswer(m)
	case role == abi.RoleInputs && d.resource != nil:
		return d.resource.Inputs.CheckAnswer(m)
	}
	return nil
}

// hasOutput reports whether the schema has an output of a resource.
func (d declared) hasOutput(name string) bool {
	return d.resource != nil && d.resource.Outputs.Property(name) != nil
}

// compared returns the schemas of what a diff is about.
func (d declared) compared() []*schema.Object {
	if d.resource != nil {
		return []*schema.Object{&d.resource.Inputs, &d.resource.Outputs}
	}
	if inputs := d.inputs(); inputs != nil {
		return []*schema.Object{inputs}
	}
	return nil
}

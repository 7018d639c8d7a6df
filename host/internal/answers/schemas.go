package answers

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// Schema is the schema of one package. It is asked for when it is first needed, and kept.
type Schema struct {
	// request is empty for the provider's own package, and names an extension otherwise.
	request abi.GetSchemaRequest
	// facts are the module's, nil for a package that it becomes or is extended with.
	facts *Facts
	// turn is full while somebody asks.
	turn chan struct{}
	// asked is set after pkg, which is nil if there is none that can be read.
	asked atomic.Bool
	pkg   *schema.Package
}

// NewSchema returns the schema of a module's own package.
func NewSchema(facts *Facts) *Schema { return &Schema{facts: facts, turn: make(chan struct{}, 1)} }

// Asked reports whether somebody has asked for the schema.
func (s *Schema) Asked() bool { return s.asked.Load() }

// Asker asks a provider for schemas.
type Asker struct {
	// GetSchema asks the guest.
	GetSchema func(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error)
	// Unreadable hears of a schema that cannot be read: responses are not held to it.
	Unreadable func(context.Context, error)
}

// load returns the schema, which it asks for once. A provider without one is not held to any.
func (s *Schema) load(ctx context.Context, ask Asker) *schema.Package {
	if s.asked.Load() {
		return s.pkg
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil
	}
	if s.asked.Load() {
		return s.pkg
	}
	text, err := s.text(ctx, ask)
	if ctx.Err() != nil || errors.Is(err, abi.ErrUnavailable) || errors.Is(err, abi.ErrCancelled) {
		return nil // the next call may have more luck
	}
	defer s.asked.Store(true)
	if err == nil && text != "" {
		if s.pkg, err = schemajson.Parse([]byte(text)); err == nil {
			dropUnfitDefaults(s.pkg)
			if s.facts != nil {
				s.facts.NoteSchema(text, s.pkg.Deferred)
			}
		}
	}
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		ask.Unreadable(ctx, err)
	}
	return s.pkg
}

// text returns the schema as the provider writes it, or has written it before.
func (s *Schema) text(ctx context.Context, ask Asker) (string, error) {
	if s.facts != nil {
		if text := s.facts.Schema(); text != "" {
			return text, nil
		}
	}
	response, err := ask.GetSchema(ctx, s.request)
	return response.Schema, err
}

// Schemas are the schemas of the packages that a provider serves.
type Schemas struct {
	mu         sync.Mutex
	own        *Schema
	extensions map[string]*Schema
}

// Begin sets the schema of the module's own package.
func (d *Schemas) Begin(own *Schema) { d.own = own }

// Become is called when parameters made the provider into another package, or extended it.
func (d *Schemas) Become(response abi.ParameterizeResponse, extends bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !extends {
		d.own, d.extensions = NewSchema(nil), nil
		return
	}
	if d.extensions == nil {
		d.extensions = make(map[string]*Schema)
	}
	extension := NewSchema(nil)
	extension.request = abi.GetSchemaRequest{SubpackageName: response.Name, SubpackageVersion: response.Version}
	d.extensions[response.Name] = extension
}

// Find returns the schema of a package, or of the provider's own package if there is none of that name.
func (d *Schemas) Find(pkg string) *Schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	if extension := d.extensions[pkg]; extension != nil {
		return extension
	}
	return d.own
}

// Package returns the schema of a token's package, nil if the provider is not held to any.
func (d *Schemas) Package(ctx context.Context, ask Asker, token string) *schema.Package {
	pkg, _, _ := strings.Cut(token, ":")
	return d.Find(pkg).load(ctx, ask)
}

// Declared is the part of the schema that describes the subject of a call; the zero Declared describes nothing.
type Declared struct {
	// pkg is set for a configuration.
	pkg      *schema.Package
	resource *schema.Resource
	function *schema.Function
}

// Of returns the schema's declarations of the subject of a call. A URN tells the type if nothing else does.
func (s *Schemas) Of(ctx context.Context, ask Asker, method abi.Method, subject abi.Subject) (d Declared) {
	token := subject.Token
	if token == "" {
		token = subject.URN.Type()
	}
	about := method.About()
	if about == abi.AboutConfiguration {
		token = ""
	}
	pkg := s.Package(ctx, ask, token)
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
func (d Declared) inputs() *schema.Object {
	switch {
	case d.pkg != nil:
		return &d.pkg.Config
	case d.resource != nil:
		return &d.resource.Inputs
	}
	return nil
}

// check checks configurations or inputs, for which there must be a schema.
func (d Declared) check(m property.Map) (property.Map, []abi.CheckFailure) {
	if d.pkg != nil {
		return d.pkg.Config.CheckConfig(m)
	}
	return d.resource.Inputs.Check(m)
}

// checkAnswer returns the parts of a map in an answer that do not fit the schema.
func (d Declared) checkAnswer(role abi.Role, m property.Map) []abi.CheckFailure {
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
func (d Declared) hasOutput(name string) bool {
	return d.resource != nil && d.resource.Outputs.Property(name) != nil
}

// compared returns the schemas that a diff compares by.
func (d Declared) compared() []*schema.Object {
	if d.resource != nil {
		return []*schema.Object{&d.resource.Inputs, &d.resource.Outputs}
	}
	if inputs := d.inputs(); inputs != nil {
		return []*schema.Object{inputs}
	}
	return nil
}

// Package notes is a provider for the tests of package conformance: it keeps to every
// rule of the contract, so that a provider which embeds it and breaks one rule breaks
// that rule alone. Its notes are files, because a module's memory is no place for state.
//
// It implements the contract itself instead of through the guest SDK, which
// sees to many of the rules and would not let them be broken.
package notes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/schema"
)

// The package's tokens.
const (
	Note  = "notes:index:Note"
	Pad   = "notes:index:Pad"
	Page  = "notes:index:Pad/page"
	Count = "notes:index:count"
	Words = "notes:index:words"
	Loan  = "notes:index:loan"
	Tidy  = "notes:index:tidy"
)

// DefaultFolder is where a module finds the directory that it must be granted.
const DefaultFolder = "/notes"

// Provider keeps notes. Its methods may not be called in parallel.
type Provider struct {
	abi.Unimplemented
	// Folder is the directory of the notes.
	Folder string
	// State makes the state of a note of its inputs; nil is [State].
	State func(inputs property.Map) property.Map

	streams map[abi.StreamHandle][]property.Map
}

// New returns a provider of notes in [DefaultFolder].
func New() *Provider { return &Provider{Folder: DefaultFolder} }

// Handshake says who answers.
func (p *Provider) Handshake(_ context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{
		Name: Schema.Name, Version: Schema.Version, SDK: "none",
		Features: request.Features & (abi.FeaturesSecrets | abi.FeaturesPreview),
	}, nil
}

// GetSchema returns [Schema].
func (p *Provider) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: string(Schema.AppendJSON(nil))}, nil
}

// CheckConfig validates the configuration by the schema.
func (p *Provider) CheckConfig(_ context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	inputs, failures := Schema.Config.CheckConfig(request.News)
	return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
}

// DiffConfig compares configurations by the schema.
func (p *Provider) DiffConfig(_ context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	return Schema.DiffConfig(request)
}

// Configure takes the folder from the configuration, where it says one.
func (p *Provider) Configure(_ context.Context, request abi.ConfigureRequest) error {
	if folder, ok := request.Inputs.Get("folder").Plain().AsString(); ok {
		p.Folder = folder
	}
	return nil
}

// Check validates inputs by the schema.
func (p *Provider) Check(_ context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	r, err := p.Resource(request.Type)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	inputs, failures := r.Inputs.Check(request.News)
	return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
}

// Diff compares by the schema.
func (p *Provider) Diff(_ context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	r, err := p.Resource(request.Type)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	return r.Diff(request)
}

// Create writes a note.
func (p *Provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if _, err := p.Resource(request.Type); err != nil {
		return abi.CreateResponse{}, err
	}
	state := p.state(request.Inputs)
	if request.Preview {
		return abi.CreateResponse{State: state}, nil
	}
	if err := ctx.Err(); err != nil {
		return abi.CreateResponse{}, err
	}
	title, _ := request.Inputs.Get("title").Plain().AsString()
	id := "note-" + title
	if _, err := os.Stat(p.file(id)); err == nil {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "there is a note of that title already")
	}
	if err := p.Write(id, request.Inputs, state); err != nil {
		return abi.CreateResponse{}, err
	}
	return abi.CreateResponse{ID: id, State: state}, nil
}

// Exists reports whether there is a note.
func (p *Provider) Exists(_ context.Context, request abi.ExistsRequest) (abi.ExistsResponse, error) {
	if _, err := p.Resource(request.Type); err != nil {
		return abi.ExistsResponse{}, err
	}
	_, err := os.Stat(p.file(request.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return abi.ExistsResponse{}, nil
	}
	return abi.ExistsResponse{Exists: err == nil}, err
}

// Read reads a note.
func (p *Provider) Read(_ context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err != nil {
		return abi.ReadResponse{}, err
	}
	data, err := os.ReadFile(p.file(request.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return abi.ReadResponse{}, nil
	}
	if err != nil {
		return abi.ReadResponse{}, err
	}
	note, err := guestcbor.Unmarshal(data)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	state, _ := note.Get("state").AsObject()
	inputs, _ := note.Get("inputs").AsObject()
	return abi.ReadResponse{ID: request.ID, State: state, Inputs: &inputs}, nil
}

// Update writes a note anew.
func (p *Provider) Update(_ context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if _, err := p.Resource(request.Type); err != nil {
		return abi.UpdateResponse{}, err
	}
	state := p.state(request.News)
	if request.Preview {
		return abi.UpdateResponse{State: state}, nil
	}
	if err := p.Write(request.ID, request.News, state); err != nil {
		return abi.UpdateResponse{}, err
	}
	return abi.UpdateResponse{State: state}, nil
}

// Delete deletes a note. One that is gone is no error.
func (p *Provider) Delete(_ context.Context, request abi.DeleteRequest) error {
	if _, err := p.Resource(request.Type); err != nil {
		return err
	}
	if err := os.Remove(p.file(request.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List lists all notes on one page.
func (p *Provider) List(_ context.Context, request abi.ListRequest) (abi.ListResponse, error) {
	if _, err := p.Resource(request.Token); err != nil {
		return abi.ListResponse{}, err
	}
	entries, err := os.ReadDir(p.Folder)
	if err != nil {
		return abi.ListResponse{}, err
	}
	var response abi.ListResponse
	for _, e := range entries {
		response.Resources = append(response.Resources, abi.ListedResource{ID: e.Name(), Name: e.Name()})
	}
	return response, nil
}

// Cancel has nothing to release.
func (p *Provider) Cancel(context.Context) error { return nil }

// Resource returns the resource type of a token.
func (p *Provider) Resource(token string) (*schema.Resource, error) {
	if r := Schema.Resource(token); r != nil && !r.Component {
		return r, nil
	}
	return nil, abi.NewError(abi.ErrorKindNotFound, "there is no resource type "+token)
}

func (p *Provider) state(inputs property.Map) property.Map {
	if p.State != nil {
		return p.State(inputs)
	}
	return State(inputs)
}

// State is the state of a note with these inputs.
func State(inputs property.Map) property.Map {
	return inputs.With("words", words(inputs.Get("text"))).With("label", inputs.Get("title"))
}

// words counts the words of a text; the number is as unknown and as secret as the text.
func words(text property.Value) property.Value {
	if text.ContainsUnknowns() {
		return text
	}
	s, _ := text.Plain().AsString()
	n := property.Number(float64(len(strings.Fields(s))))
	if text.ContainsSecrets() {
		return property.Secret(n)
	}
	return n
}

// Write stores a note.
func (p *Provider) Write(id string, inputs, state property.Map) error {
	data, err := guestcbor.Marshal(property.NewMap(
		property.Entry{Key: "inputs", Value: property.Object(inputs)},
		property.Entry{Key: "state", Value: property.Object(state)},
	))
	if err != nil {
		return err
	}
	return os.WriteFile(p.file(id), data, 0o600)
}

// file is where a note is. An ID from elsewhere does not lead out of the folder.
func (p *Provider) file(id string) string { return filepath.Join(p.Folder, filepath.Base("/"+id)) }

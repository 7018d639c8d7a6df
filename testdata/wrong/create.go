package main

import (
	"context"
	"os"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksPreviewEffects: its preview of Create makes the note.
type breaksPreviewEffects struct{ *notes.Provider }

func (p breaksPreviewEffects) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	known := !request.Inputs.ContainsUnknowns()
	request.Preview = request.Preview && !known
	return p.Provider.Create(ctx, request)
}

// breaksPreviewEffectsUpdate: its preview of Update writes the note.
type breaksPreviewEffectsUpdate struct{ *notes.Provider }

func (p breaksPreviewEffectsUpdate) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	request.Preview = false
	return p.Provider.Update(ctx, request)
}

// breaksPreviewUnknowns: its preview takes what is not known for empty.
type breaksPreviewUnknowns struct{ *notes.Provider }

func (p breaksPreviewUnknowns) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if request.Inputs.Get("text").IsUnknown() {
		request.Inputs = request.Inputs.With("text", property.String(""))
	}
	return p.Provider.Create(ctx, request)
}

// breaksPreviewAgrees: its preview claims to know what it does not.
type breaksPreviewAgrees struct{ *notes.Provider }

func (p breaksPreviewAgrees) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	if request.Preview {
		response.State = response.State.With("words", property.Number(0))
	}
	return response, err
}

// breaksCreate: its Create answers no ID.
type breaksCreate struct{ *notes.Provider }

func (p breaksCreate) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	response.ID = ""
	return response, err
}

// breaksCreateIncomplete: its state lacks what the schema says is always there.
type breaksCreateIncomplete struct{ *notes.Provider }

func (p breaksCreateIncomplete) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	response.State = response.State.Without("words")
	return response, err
}

// breaksCreateUndeclared: its state has what the schema lacks.
type breaksCreateUndeclared struct{ *notes.Provider }

func (p breaksCreateUndeclared) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	response.State = response.State.With("letters", property.Number(3))
	return response, err
}

// breaksCreateUnknown: its state has an unknown though the note exists.
type breaksCreateUnknown struct{ *notes.Provider }

func (p breaksCreateUnknown) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	response.State = response.State.With("words", property.Unknown)
	return response, err
}

// breaksSecrets: its state has a secret in plain.
type breaksSecrets struct{ *notes.Provider }

func (p breaksSecrets) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	if pin, ok := response.State.Lookup("pin"); ok {
		response.State = response.State.With("pin", pin.Plain())
	}
	return response, err
}

// breaksSecretsDerived: its state repeats a secret within another property.
func breaksSecretsDerived(p *notes.Provider) abi.Provider {
	p.State = func(inputs property.Map) property.Map {
		pin, _ := inputs.Get("pin").Plain().AsString()
		return notes.State(inputs).With("label", property.String("opens with "+pin))
	}
	return p
}

// pause is how long a note takes to write: longer than a host lets a guest go on that was
// cancelled.
const pause = 10 * time.Second

// breaksCancelledCreate: its Create does not notice that it was cancelled.
type breaksCancelledCreate struct{ *notes.Provider }

func (p breaksCancelledCreate) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if !request.Preview {
		os.Stdout.WriteString("begun\n")
		for deadline := time.Now().Add(pause); time.Now().Before(deadline); {
		}
	}
	return p.Provider.Create(ctx, request)
}

// Command lab is a provider for the tests of the command line. Its resources do
// what real ones do only sometimes: take long, fail, talk, crash, and let secrets
// slip.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	guest "github.com/husk-dev/husk/guest-sdk"
)

// ThingInputs are a Thing's.
type ThingInputs struct {
	Name  string   `husk:"name,replace" doc:"What it is called."`
	Size  *int     `husk:"size,min=1,max=100" doc:"How large it is."`
	Parts []string `husk:"parts,optional" doc:"What it is made of."`
	Key   *string  `husk:"key,secret" doc:"What opens it."`
}

// ThingState is a Thing's.
type ThingState struct {
	ThingInputs
	Label string `husk:"label" doc:"The name, decorated."`
	Token string `husk:"token,secret" doc:"Made up by the provider."`
}

// Thing is a resource that does nothing, well.
type Thing struct{}

func stateOf(in ThingInputs) ThingState {
	return ThingState{in, "<" + in.Name + ">", "token-of-" + in.Name}
}

// Create makes a thing.
func (Thing) Create(_ context.Context, r guest.CreateRequest[ThingInputs]) (guest.CreateResponse[ThingState], error) {
	return guest.CreateResponse[ThingState]{ID: "thing-" + r.Inputs.Name, State: stateOf(r.Inputs)}, nil
}

// Update changes a thing.
func (Thing) Update(_ context.Context, r guest.UpdateRequest[ThingInputs, ThingState]) (guest.UpdateResponse[ThingState], error) {
	return guest.UpdateResponse[ThingState]{State: stateOf(r.Inputs)}, nil
}

// WaitInputs are a Wait's.
type WaitInputs struct {
	Begun string `husk:"begun" doc:"A file that is made when the creation begins."`
	Until string `husk:"until" doc:"A file that the creation waits for."`
}

// WaitState is a Wait's.
type WaitState struct{ WaitInputs }

// Wait is a resource whose creation lasts until a file appears.
type Wait struct{}

// patience bounds the wait, so that a test that goes wrong ends.
const patience = time.Minute

// Create waits.
func (Wait) Create(ctx context.Context, r guest.CreateRequest[WaitInputs]) (guest.CreateResponse[WaitState], error) {
	guest.Log(ctx).Info("waiting for " + r.Inputs.Until)
	if err := os.WriteFile(r.Inputs.Begun, nil, 0o644); err != nil {
		return guest.CreateResponse[WaitState]{}, err
	}
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(r.Inputs.Until); err == nil {
			return guest.CreateResponse[WaitState]{ID: "waited", State: WaitState{r.Inputs}}, nil
		}
		if time.Now().After(deadline) {
			return guest.CreateResponse[WaitState]{}, errors.New(r.Inputs.Until + " did not appear")
		}
		select {
		case <-ctx.Done():
			return guest.CreateResponse[WaitState]{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TroubleInputs are a Trouble's.
type TroubleInputs struct {
	Kind string  `husk:"kind,oneof=fail|panic|talk" doc:"What goes wrong."`
	Key  *string `husk:"key,secret" doc:"Something that must not be shown."`
}

// TroubleState is a Trouble's.
type TroubleState struct{ TroubleInputs }

// Trouble is a resource that goes wrong.
type Trouble struct{}

// Create goes wrong.
func (Trouble) Create(ctx context.Context, r guest.CreateRequest[TroubleInputs]) (guest.CreateResponse[TroubleState], error) {
	switch r.Inputs.Kind {
	case "fail":
		return guest.CreateResponse[TroubleState]{}, errors.New("the lab is closed\ncome back tomorrow")
	case "panic":
		panic("the lab exploded")
	}
	log := guest.Log(ctx)
	log.Debug("a word for authors")
	log.Info("a word for users")
	log.Warning("mind the \x1b[31mpaint\x1b[0m")
	os.Stdout.WriteString("printed to stdout\n")
	os.Stderr.WriteString("printed to stderr\n")
	return guest.CreateResponse[TroubleState]{ID: "talked", State: TroubleState{r.Inputs}}, nil
}

func main() {
	guest.Serve(guest.Provider{
		Name: "lab", Version: "1.2.3", Description: "Resources for tests.",
		Resources: []guest.Resource{
			guest.ResourceOf("lab:index:Thing", Thing{}),
			guest.ResourceOf("lab:index:Wait", Wait{}),
			guest.ResourceOf("lab:index:Trouble", Trouble{}),
		},
	})
}

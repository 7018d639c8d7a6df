package provider

import (
	"context"
	"encoding/base64"
	"encoding/hex"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// noID is the ID of resources that have nothing to identify them but a secret.
const noID = "none"

type bytesInputs struct {
	keepers
	Length int `husk:"length,min=1,max=1048576" doc:"How many bytes."`
}

type bytesState struct {
	bytesInputs
	Base64 string `husk:"base64,secret" doc:"The bytes in base64."`
	Hex    string `husk:"hex,secret" doc:"The bytes in lower-case hexadecimal digits."`
}

// Bytes is the resource RandomBytes.
type Bytes struct{}

// Create draws the bytes.
func (Bytes) Create(_ context.Context, r guest.CreateRequest[bytesInputs]) (guest.CreateResponse[bytesState], error) {
	b, err := drawBytes(r.Inputs.Length)
	if err != nil {
		return guest.CreateResponse[bytesState]{}, err
	}
	return guest.CreateResponse[bytesState]{ID: noID, State: bytesOf(r.Inputs, b)}, nil
}

// Read makes bytes of an ID that is their base64.
func (Bytes) Read(_ context.Context, r guest.ReadRequest[bytesInputs, bytesState]) (guest.ReadResponse[bytesInputs, bytesState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	b, err := base64.StdEncoding.DecodeString(r.ID)
	if err != nil || len(b) == 0 {
		return guest.ReadResponse[bytesInputs, bytesState]{}, guest.InvalidArgument("", "the ID to import must be the bytes in base64")
	}
	inputs := bytesInputs{Length: len(b)}
	return guest.ReadResponse[bytesInputs, bytesState]{ID: noID, Inputs: inputs, State: bytesOf(inputs, b)}, nil
}

func bytesOf(inputs bytesInputs, b []byte) bytesState {
	return bytesState{inputs, base64.StdEncoding.EncodeToString(b), hex.EncodeToString(b)}
}

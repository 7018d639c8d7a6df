package provider

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type idInputs struct {
	keepers
	ByteLength int     `husk:"byteLength,min=1,max=65536" doc:"How many random bytes the number has."`
	Prefix     *string `husk:"prefix" doc:"What each notation begins with. It is taken as it is, so that it decides whether the outputs are safe in URLs."`
}

type idState struct {
	idInputs
	B64Std string `husk:"b64Std" doc:"The number in base64."`
	B64URL string `husk:"b64Url" doc:"The number in URL-safe base64 without padding."`
	Dec    string `husk:"dec" doc:"The number in decimal digits without leading zeros."`
	Hex    string `husk:"hex" doc:"The number in lower-case hexadecimal digits, two for each byte."`
}

// ID is the resource RandomId.
type ID struct{}

// Create draws the number.
func (ID) Create(_ context.Context, r guest.CreateRequest[idInputs]) (guest.CreateResponse[idState], error) {
	b, err := drawBytes(r.Inputs.ByteLength)
	if err != nil {
		return guest.CreateResponse[idState]{}, err
	}
	return guest.CreateResponse[idState]{ID: base64.RawURLEncoding.EncodeToString(b), State: idOf(r.Inputs, b)}, nil
}

// Read makes a number of its ID.
func (ID) Read(_ context.Context, r guest.ReadRequest[idInputs, idState]) (guest.ReadResponse[idInputs, idState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	var inputs idInputs
	id := r.ID
	if comma := strings.LastIndexByte(id, ','); comma >= 0 {
		prefix := id[:comma]
		inputs.Prefix, id = &prefix, id[comma+1:]
	}
	b, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(b) == 0 {
		return guest.ReadResponse[idInputs, idState]{}, guest.InvalidArgument("",
			"the ID to import must be the number in URL-safe base64 without padding, or prefix,number")
	}
	inputs.ByteLength = len(b)
	return guest.ReadResponse[idInputs, idState]{ID: id, Inputs: inputs, State: idOf(inputs, b)}, nil
}

func idOf(inputs idInputs, b []byte) idState {
	prefix := ""
	if inputs.Prefix != nil {
		prefix = *inputs.Prefix
	}
	return idState{
		idInputs: inputs,
		B64Std:   prefix + base64.StdEncoding.EncodeToString(b),
		B64URL:   prefix + base64.RawURLEncoding.EncodeToString(b),
		Dec:      prefix + new(big.Int).SetBytes(b).String(),
		Hex:      prefix + hex.EncodeToString(b),
	}
}

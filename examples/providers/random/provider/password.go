package provider

import (
	"context"

	"golang.org/x/crypto/bcrypt"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type passwordState struct {
	textInputs
	Result     string `husk:"result,secret" doc:"The password."`
	BcryptHash string `husk:"bcryptHash,secret" doc:"The bcrypt hash of the password, of its first 72 bytes where it is longer."`
}

// Password is the resource RandomPassword.
type Password struct{ text }

// Create draws the password.
func (Password) Create(_ context.Context, r guest.CreateRequest[textInputs]) (guest.CreateResponse[passwordState], error) {
	password, err := r.Inputs.generate()
	if err != nil {
		return guest.CreateResponse[passwordState]{}, err
	}
	state, err := passwordOf(r.Inputs, password)
	if err != nil {
		return guest.CreateResponse[passwordState]{}, err
	}
	return guest.CreateResponse[passwordState]{ID: noID, State: state}, nil
}

// Read takes the ID for the password.
func (Password) Read(_ context.Context, r guest.ReadRequest[textInputs, passwordState]) (guest.ReadResponse[textInputs, passwordState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	inputs := imported(r.ID)
	state, err := passwordOf(inputs, r.ID)
	return guest.ReadResponse[textInputs, passwordState]{ID: noID, Inputs: inputs, State: state}, err
}

// maxBcrypt is how much of a password bcrypt hashes, in bytes.
const maxBcrypt = 72

func passwordOf(inputs textInputs, password string) (passwordState, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password)[:min(len(password), maxBcrypt)], bcrypt.DefaultCost)
	return passwordState{inputs, password, string(hash)}, err
}

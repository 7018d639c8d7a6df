// Command handshake is a provider of notes that breaks one rule. Its version is no semantic version.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, err := p.Provider.Handshake(ctx, request)
	response.Version = "one"
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }

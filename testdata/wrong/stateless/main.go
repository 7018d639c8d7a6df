// Command stateless is a provider of notes that breaks one rule. It knows only of notes that it has made itself.
package main

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct {
	*notes.Provider
	known []string
}

func (p *provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	p.known = append(p.known, response.ID)
	return response, err
}

func (p *provider) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err == nil && !slices.Contains(p.known, request.ID) {
		return abi.ReadResponse{}, nil
	}
	return p.Provider.Read(ctx, request)
}

func main() { guest.ServeProvider(&provider{Provider: notes.New()}) }

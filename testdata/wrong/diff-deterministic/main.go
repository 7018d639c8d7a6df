// Command diff-deterministic is a provider of notes that breaks one rule. Its Diff depends on how often it was asked.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct {
	*notes.Provider
	asked int
}

func (p *provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	p.asked++
	response.DeleteBeforeReplace = p.asked%2 == 0
	return response, err
}

func main() { guest.ServeProvider(&provider{Provider: notes.New()}) }

// Command schema is a provider of notes that breaks one rule. Its schema is another package's.
package main

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	response, err := p.Provider.GetSchema(ctx, request)
	response.Schema = strings.ReplaceAll(response.Schema, "notes:", "memos:")
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }

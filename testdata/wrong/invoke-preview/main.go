// Command invoke-preview is a provider of notes that breaks one rule. Its function fails in a preview.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	if request.Preview {
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindUnavailable, "there are no previews")
	}
	return p.Provider.Invoke(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }

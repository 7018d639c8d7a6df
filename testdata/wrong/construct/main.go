// Command construct is a provider of notes that breaks one rule. Its component has a child that is not below it.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

// loose registers what lies below something as if it did not.
type loose struct{ abi.Monitor }

func (m loose) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	request.Parent = ""
	return m.Monitor.RegisterResource(ctx, request)
}

func (p provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return p.Provider.Construct(abi.WithMonitor(ctx, loose{abi.MonitorFrom(ctx)}), request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }

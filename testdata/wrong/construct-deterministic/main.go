// Command construct-deterministic is a provider of notes that breaks one rule. Its component has other children each time.
package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct {
	*notes.Provider
	children int
}

// counting numbers the children of all components.
type counting struct {
	abi.Monitor
	children *int
}

func (m counting) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	if request.Custom {
		*m.children++
		request.Name += "-" + strconv.Itoa(*m.children)
	}
	return m.Monitor.RegisterResource(ctx, request)
}

func (p *provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return p.Provider.Construct(abi.WithMonitor(ctx, counting{abi.MonitorFrom(ctx), &p.children}), request)
}

func main() { guest.ServeProvider(&provider{Provider: notes.New()}) }

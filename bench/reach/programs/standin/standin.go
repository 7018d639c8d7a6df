// Package standin has what the stand-ins for providers of clouds share: they take all inputs, and change nothing by themselves.
package standin

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Provider is a stand-in for a package of Pulumi. What embeds it creates, updates, and deletes.
type Provider struct {
	abi.Unimplemented
	Name, Version string
}

func (p Provider) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: p.Name, Version: p.Version, SDK: guest.SDK}, nil
}

func (Provider) CheckConfig(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func (Provider) DiffConfig(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, nil
}

func (Provider) Configure(context.Context, abi.ConfigureRequest) error { return nil }

func (Provider) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func (Provider) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, nil
}

func (Provider) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	if r.State == nil {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "a resource of the stand-in cannot be imported")
	}
	return abi.ReadResponse{ID: r.ID, State: *r.State, Inputs: r.Inputs}, nil
}

// Text returns a property that is a text, and an empty text for others.
func Text(of property.Map, name string) string {
	s, _ := of.Get(name).AsString()
	return s
}

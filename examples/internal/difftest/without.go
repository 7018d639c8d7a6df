package difftest

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Without leaves properties out of states and of inputs that are read, where they are null or empty texts: the zeros of Go, which other languages
// leave out.
type Without struct {
	abi.Provider
	Names []string
}

func (p Without) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, r)
	response.State = p.leaveOut(response.State)
	return response, err
}

func (p Without) Read(ctx context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, r)
	response.State = p.leaveOut(response.State)
	if response.Inputs != nil {
		inputs := p.leaveOut(*response.Inputs)
		response.Inputs = &inputs
	}
	return response, err
}

func (p Without) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	response, err := p.Provider.Update(ctx, r)
	response.State = p.leaveOut(response.State)
	return response, err
}

func (p Without) leaveOut(state property.Map) property.Map {
	for _, name := range p.Names {
		if v := state.Get(name).Plain(); v.IsNull() || v.Equal(property.String("")) {
			state = state.Without(name)
		}
	}
	return state
}

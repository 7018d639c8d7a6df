package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
)

// Parameters say what a provider is to become: see [Provider.Parameterize].
type Parameters struct {
	// Args are words as a user gives them. There are none where there is a Value.
	Args []string
	// Name, Version, and Value are what an earlier Parameterize answered, in another
	// instance of the provider or on another machine.
	Name    string
	Version string
	Value   []byte
}

// Parameterized is what a provider became.
type Parameterized struct {
	// Provider is the package, with a name of its own. It is served in place of the
	// provider that was parameterized.
	Provider Provider
	// Value gives the same provider again without the Args, and without what they refer
	// to: it is kept in states, so that what was made can be destroyed. At most
	// [MaxParameter] bytes.
	Value []byte
}

// MaxParameter is how many bytes the value of a parameterization may have. It is part of
// each state that was made with the provider.
const MaxParameter = 4 << 20

// parameterizable is a provider that can become another one. Parameterize comes before
// all calls but the handshake, so that the field does not change while others read it.
type parameterizable struct {
	// Provider is what answers: at first the module's own.
	abi.Provider

	own *server
}

// beginFunction begins the context of a call: see [server].
type beginFunction = func(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc)

// provide registers a provider and makes what answers for it.
func provide(p Provider, begin beginFunction) (abi.Provider, error) {
	s, err := register(p)
	if err != nil {
		return nil, err
	}
	s.begin = begin
	if s.parameterize == nil {
		return s, nil
	}
	return &parameterizable{Provider: s, own: s}, nil
}

func (p *parameterizable) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	own := p.own.pkg.Name
	if request.Extension {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindUnimplemented,
			own+" becomes another package by its parameters, but serves none beside its own")
	}
	parameters := Parameters{Args: request.Parameters.Args}
	if request.Parameters.Case == abi.ParametersCaseValue {
		v := request.Parameters.Value
		parameters = Parameters{Name: v.Name, Version: v.Version, Value: v.Value}
	}
	ctx, leave := p.own.within(ctx, "", 0)
	defer leave()
	became, err := p.own.parameterize(ctx, parameters)
	if err != nil {
		return abi.ParameterizeResponse{}, answerError(err)
	}
	if len(became.Value) > MaxParameter {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "the parameters of "+own+" are too large to be kept in a state")
	}
	next, err := provide(became.Provider, p.own.begin)
	if err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInternal, "package "+became.Provider.Name+": "+err.Error())
	}
	p.Provider = next
	return abi.ParameterizeResponse{Name: became.Provider.Name, Version: became.Provider.Version, Value: became.Value}, nil
}

package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
)

// Parameters say what a provider is to become, or to serve beside its own package: see
// [Provider.Parameterize] and [Provider.Extend].
type Parameters struct {
	// Args are words as a user gives them. There are none where there is a Value.
	Args []string
	// Name, Version, and Value are what an earlier call answered, in another
	// instance of the provider or on another machine.
	Name    string
	Version string
	Value   []byte
}

// Parameterized is what a provider became, or is extended with.
type Parameterized struct {
	// Provider is the package, with a name of its own. It is served in place of the
	// provider that was parameterized, or beside it.
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
type beginFunction = func(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, ender)

// ender ends the context of a call.
type ender interface{ End() }

// provide registers a provider and makes what answers for it.
func provide(p Provider, begin beginFunction) (abi.Provider, error) {
	s, err := register(p)
	if err != nil {
		return nil, err
	}
	s.begin = begin
	return s.answering(), nil
}

// answering returns what answers for a registered provider.
func (s *server) answering() (served abi.Provider) {
	served = s
	if s.extend != nil {
		served = &extensible{server: s}
	}
	if s.parameterize != nil {
		served = &parameterizable{Provider: served, own: s}
	}
	return served
}

// Parameterize answers for a provider that is no other package, and serves no other.
func (s *server) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if request.Extension {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, s.pkg.Name+" serves no packages beside its own")
	}
	return s.Unimplemented.Parameterize(ctx, request)
}

// told calls the author's function with what a request says.
func (s *server) told(ctx context.Context, become func(context.Context, Parameters) (Parameterized, error), request abi.ParameterizeRequest) (Parameterized, error) {
	parameters := Parameters{Args: request.Parameters.Args}
	if request.Parameters.Case == abi.ParametersCaseValue {
		v := request.Parameters.Value
		parameters = Parameters{Name: v.Name, Version: v.Version, Value: v.Value}
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	became, err := become(ctx, parameters)
	if err != nil {
		return became, answerError(err)
	}
	if len(became.Value) > MaxParameter {
		return became, abi.NewError(abi.ErrorKindInvalidArgument, "the parameters of "+s.pkg.Name+" are too large to be kept in a state")
	}
	return became, nil
}

func (p *parameterizable) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if request.Extension {
		return p.Provider.Parameterize(ctx, request)
	}
	became, err := p.own.told(ctx, p.own.parameterize, request)
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	next, err := register(became.Provider)
	if err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInternal, "package "+became.Provider.Name+": "+err.Error())
	}
	next.begin = p.own.begin
	next.madeOf(p.own, became.Value)
	p.Provider = next.answering()
	return abi.ParameterizeResponse{Name: became.Provider.Name, Version: became.Provider.Version, Value: became.Value}, nil
}

// madeOf notes in the schema of a package that it comes of another one by a parameter.
func (s *server) madeOf(base *server, parameter []byte) {
	s.pkg.Parameterization = &schema.Parameterization{Name: base.pkg.Name, Version: base.pkg.Version, Parameter: parameter}
}

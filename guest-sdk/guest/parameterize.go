package guest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
)

// Parameters are the parameters of [Provider.Parameterize] and [Provider.Extend].
type Parameters struct {
	// Args are words as a user gives them. There are none if there is a Value.
	Args []string
	// Name, Version, and Value are results of an earlier call, in another instance or on another
	// machine.
	Name    string
	Version string
	Value   []byte
}

// Parameterized is the package that a provider became, or is extended with.
type Parameterized struct {
	// Provider is the package, with another name. It is served in place of the provider, or
	// beside it.
	Provider Provider
	// Value makes the same provider again without the Args and their files. States keep it, at
	// most [MaxParameter] bytes.
	Value []byte
}

// MaxParameter is the size limit of the value of a parameterization in bytes.
const MaxParameter = 4 << 20

// parameterizable is a provider that can become another one. Parameterize comes before all calls but
// the handshake: nobody reads the field when it changes.
type parameterizable struct {
	// Provider serves the calls. At first it is the module's own.
	abi.Provider

	own *server
}

// provide registers a provider, and returns the server of its calls.
func provide(p Provider, begin beginFunction) (abi.Provider, error) {
	s, err := register(p, &shared{begin: begin})
	if err != nil {
		return nil, err
	}
	return s.serving(), nil
}

// serving returns the server of a registered provider's calls.
func (s *server) serving() abi.Provider {
	if s.parameterize != nil {
		return &parameterizable{Provider: s, own: s}
	}
	return s
}

// parameterized calls the author's function with the parameters of a request.
func (s *server) parameterized(ctx context.Context, become func(context.Context, Parameters) (Parameterized, error), request abi.ParameterizeRequest) (Parameterized, error) {
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
	became, err := p.own.parameterized(ctx, p.own.parameterize, request)
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	next, response, err := p.own.derive(became, &shared{begin: p.own.begin})
	if err != nil {
		return response, err
	}
	p.Provider = next.serving()
	return response, nil
}

// derive registers the package that s became, or is extended with.
func (s *server) derive(became Parameterized, common *shared) (*server, abi.ParameterizeResponse, error) {
	p := became.Provider
	next, err := register(p, common)
	if err != nil {
		return nil, abi.ParameterizeResponse{}, packageError(p, err)
	}
	next.pkg.Parameterization = &schema.Parameterization{Name: s.pkg.Name, Version: s.pkg.Version, Parameter: became.Value}
	return next, abi.ParameterizeResponse{Name: p.Name, Version: p.Version, Value: became.Value}, nil
}

func packageError(p Provider, err error) error {
	return abi.NewError(abi.ErrorKindInternal, "package "+p.Name+": "+err.Error())
}

// Parameterize extends the provider with another package. It becomes another provider if it is a
// [parameterizable].
func (s *server) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if !request.Extension {
		return s.Unimplemented.Parameterize(ctx, request)
	}
	if s.extend == nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, s.pkg.Name+" serves no packages beside its own")
	}
	became, err := s.parameterized(ctx, s.extend, request)
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	if err := s.checkExtension(became.Provider); err != nil {
		return abi.ParameterizeResponse{}, packageError(became.Provider, err)
	}
	next, response, err := s.derive(became, s.shared)
	if err != nil {
		return response, err
	}
	s.extending.Lock()
	defer s.extending.Unlock()
	if s.extensions == nil {
		s.extensions = map[string]*server{}
	}
	s.extensions[next.pkg.Name] = next
	return response, nil
}

func (s *server) checkExtension(p Provider) error {
	switch {
	case p.Name == s.pkg.Name:
		return errors.New("it has the name of the provider that it extends")
	case p.Config.configure != nil:
		return errors.New("it has a configuration, but is configured with the provider that it extends")
	case p.Parameterize != nil || p.Extend != nil:
		return errors.New("it cannot be parameterized itself")
	}
	return nil
}

// of returns the server of a token: the extension that it names, or s.
func (s *server) of(token string) *server {
	pkg, _, _ := strings.Cut(token, ":")
	if e := s.extension(pkg); e != nil {
		return e
	}
	return s
}

// extension returns the extension with a name; nil for none.
func (s *server) extension(name string) *server {
	if s.extend == nil {
		return nil
	}
	s.extending.RLock()
	defer s.extending.RUnlock()
	return s.extensions[name]
}

// Cancel closes the extensions, and the provider last, which they may use.
func (s *server) Cancel(ctx context.Context) error {
	s.extending.RLock()
	extensions := slices.Collect(maps.Values(s.extensions))
	s.extending.RUnlock()
	var failed error
	for _, e := range extensions {
		failed = errors.Join(failed, e.Cancel(ctx))
	}
	if s.close == nil {
		return failed
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	err := answerError(s.close(ctx))
	if failed == nil {
		return err
	}
	return errors.Join(failed, err)
}

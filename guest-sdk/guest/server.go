package guest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

var _ abi.Provider = (*server)(nil)

// beginFunction returns the context in which the author's code handles a resource, if there is one, and an ender of that context.
// The context ends after the timeout by itself, unless that is 0.
type beginFunction = func(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, ender)

type ender interface{ End() }

// shared is the state that a provider shares with the packages that extend it.
type shared struct {
	begin beginFunction
	// undecided is true while the configuration holds unknowns. The author's code must not run
	// then.
	undecided atomic.Bool
	// streams has the open streams; nil if no function streams.
	streams atomic.Pointer[streamer]
}

// server is a registered package.
type server struct {
	abi.Unimplemented
	*shared

	pkg       *schema.Package
	resources map[string]*resource
	functions map[string]*function
	config    *shape.Shape // nil if there is no configuration
	configure func(ctx context.Context, config unsafe.Pointer) error
	mappings  []Mapping
	requests  []abi.CapabilityRequest
	close     func(context.Context) error
	// composer is nil if there are no components.
	composer  composer
	streaming map[string]*streaming
	// ephemerals and actions are nil if there are none.
	ephemerals opener
	actions    actor
	// parameterize is nil if the provider has no parameters.
	parameterize func(context.Context, Parameters) (Parameterized, error)
	// extend is nil if the provider serves no packages beside its own.
	extend func(context.Context, Parameters) (Parameterized, error)
	// extensions are those packages by name. They come at any time, also during calls.
	extensions map[string]*server
	extending  sync.RWMutex

	// recent is the resource of the last call. The next call is usually for the same, and to compare
	// its token is faster than to hash it.
	recent atomic.Pointer[resource]
}

type function struct {
	*schema.Function
	args   *shape.Shape
	result *shape.Shape
	call   func(ctx context.Context, args unsafe.Pointer) (result unsafe.Pointer, err error)
}

func (s *server) Handshake(_ context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	understood := abi.AllFeatures
	if s.parameterize == nil && s.extend == nil && !slices.ContainsFunc(s.pkg.Resources, hasWriteOnly) {
		understood &^= abi.FeaturesWriteOnly
	}
	return abi.HandshakeResponse{
		Name: s.pkg.Name, Version: s.pkg.Version, SDK: SDK, Features: understood & request.Features, Requests: s.requests,
	}, nil
}

func hasWriteOnly(r *schema.Resource) bool { return r.Inputs.HasWriteOnly() }

func (s *server) GetSchema(_ context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if request.Version != 0 {
		return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "there is only version 0 of the schema format")
	}
	pkg := s.pkg
	if name := request.SubpackageName; name != "" {
		e := s.extension(name)
		if e == nil {
			return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindNotFound, "there is no package "+name+" in "+pkg.Name)
		}
		pkg = e.pkg
		if v := request.SubpackageVersion; v != "" && v != pkg.Version {
			return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindNotFound, "the package "+name+" is served in version "+pkg.Version+", not "+v)
		}
	}
	return abi.GetSchemaResponse{Schema: string(pkg.AppendJSON(nil))}, nil
}

func (s *server) CheckConfig(_ context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	inputs, failures := s.pkg.Config.CheckConfig(request.News)
	return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
}

func (s *server) DiffConfig(_ context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	return s.pkg.DiffConfig(request)
}

func (s *server) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	if s.configure == nil {
		return nil
	}
	if missing := s.pkg.Config.Missing(request.Inputs); len(missing) > 0 {
		e := abi.NewError(abi.ErrorKindInvalidArgument, "the configuration of "+s.pkg.Name+" is not complete")
		for _, p := range missing {
			e.MissingKeys = append(e.MissingKeys, abi.MissingKey{Name: p.Name, Description: p.Description})
		}
		return e
	}
	if request.Inputs.ContainsUnknowns() {
		s.undecided.Store(true)
		return nil
	}
	s.undecided.Store(false)
	ctx, leave := s.within(ctx, request.URN, 0)
	defer leave.End()
	config, err := loaded(s.config, request.Inputs)
	if err != nil {
		return err
	}
	return answerError(s.configure(ctx, config))
}

func (s *server) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	s = s.of(request.Token)
	f := s.functions[request.Token]
	if f == nil {
		return abi.InvokeResponse{}, s.noSuch("function", request.Token, s.pkg.NearestFunction(request.Token))
	}
	in, args, failures, leave, err := s.arguments(&ctx, f.Function, f.args, request.Args)
	if err != nil || len(failures) > 0 {
		return abi.InvokeResponse{Failures: failures}, err
	}
	defer leave.End()
	out, err := f.call(ctx, in)
	if err != nil {
		return abi.InvokeResponse{}, answerError(err)
	}
	result, err := f.result.Store(out)
	if err != nil {
		return abi.InvokeResponse{}, err
	}
	if args.ContainsSecrets() {
		result = allSecret(result)
	}
	return abi.InvokeResponse{Result: result}, nil
}

// arguments returns the checked arguments of a function, also as a variable of their shape's type. It
// replaces the context by the one in which the author's code runs, which leave ends.
func (s *server) arguments(ctx *context.Context, f *schema.Function, as *shape.Shape, given property.Map) (
	in unsafe.Pointer, checked property.Map, failures []abi.CheckFailure, leave ender, err error,
) {
	if err := s.decided(*ctx); err != nil {
		return nil, checked, nil, nil, err
	}
	if checked, failures = f.Args.Check(given); len(failures) > 0 {
		return nil, checked, failures, nil, nil
	}
	if err := known("argument", checked); err != nil {
		return nil, checked, nil, nil, err
	}
	if in, err = loaded(as, checked); err != nil {
		return nil, checked, nil, nil, err
	}
	*ctx, leave = s.within(*ctx, "", 0)
	return in, checked, nil, leave, nil
}

// decided returns an error while the configuration is not known.
func (s *server) decided(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return answerError(err) // a module is not called then
	}
	if s.undecided.Load() {
		return abi.NewError(abi.ErrorKindUnavailable, "the configuration of "+s.pkg.Name+
			" is not known in this preview: it depends on a resource that does not exist yet")
	}
	return nil
}

// known refuses unknown properties, which are a mistake outside of a preview.
func known(what string, m property.Map) error {
	for name, v := range m.All() {
		if v.ContainsUnknowns() {
			e := abi.NewError(abi.ErrorKindInvalidArgument, "the "+what+" is not known")
			e.Path = property.Path{property.Key(name)}.String()
			return e
		}
	}
	return nil
}

func (s *server) resource(token string, u urn.URN) (*resource, error) {
	if token == "" {
		token = u.Type()
	}
	s = s.of(token)
	if r := s.recent.Load(); r != nil && property.EqualText(r.Token, token) {
		return r, nil
	}
	if r := s.resources[token]; r != nil {
		s.recent.Store(r)
		return r, nil
	}
	for _, r := range s.resources {
		if slices.Contains(r.Aliases, token) {
			return r, nil
		}
	}
	return nil, s.noSuch("resource type", token, s.pkg.NearestResource(token))
}

func (s *server) noSuch(what, token, nearest string) error {
	message := "the package " + s.pkg.Name + " " + s.pkg.Version + " has no " + what + " " + token
	if nearest != "" {
		message += "; did you mean " + nearest + "?"
	}
	return abi.NewError(abi.ErrorKindNotFound, message)
}

// within is begin with a timeout in seconds.
func (s *server) within(ctx context.Context, u urn.URN, timeout float64) (context.Context, ender) {
	return s.begin(ctx, u, seconds(timeout))
}

// answerError returns an error as the contract has it, in a program and in a module alike.
func answerError(err error) error {
	if err == nil {
		return nil
	}
	return abi.AsError(err)
}

func (s *server) List(ctx context.Context, request abi.ListRequest) (abi.ListResponse, error) {
	r, err := s.resource(request.Token, "")
	if err != nil {
		return abi.ListResponse{}, err
	}
	if r.lister == nil {
		return s.Unimplemented.List(ctx, request)
	}
	if err := s.decided(ctx); err != nil {
		return abi.ListResponse{}, err
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	response, err := r.lister.List(ctx, ListRequest{
		Query: request.Query, Limit: request.Limit, PageSize: request.PageSize, ContinuationToken: request.ContinuationToken,
	})
	if err != nil {
		return abi.ListResponse{}, answerError(err)
	}
	return abi.ListResponse{Resources: response.Resources, ContinuationToken: response.ContinuationToken}, nil
}

func (s *server) Exists(ctx context.Context, request abi.ExistsRequest) (abi.ExistsResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.ExistsResponse{}, err
	}
	if r.exister == nil {
		return s.Unimplemented.Exists(ctx, request)
	}
	if err := s.decided(ctx); err != nil {
		return abi.ExistsResponse{}, err
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	exists, err := r.exister.Exists(ctx, ExistsRequest{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
	})
	return abi.ExistsResponse{Exists: exists}, answerError(err)
}

// Mapping maps the names of another ecosystem's provider to the package's, for converters of programs.
type Mapping struct {
	// Key is the ecosystem, for example terraform.
	Key string
	// Provider is the provider there, for example aws.
	Provider string
	// Data are bytes that converters of the ecosystem understand.
	Data []byte
}

func (s *server) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	if len(s.mappings) == 0 {
		return s.Unimplemented.GetMappings(ctx, request)
	}
	var response abi.GetMappingsResponse
	for _, m := range s.mappings {
		if m.Key == request.Key {
			response.Providers = append(response.Providers, m.Provider)
		}
	}
	return response, nil
}

// GetMapping returns the first mapping if the request names no provider.
func (s *server) GetMapping(ctx context.Context, request abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	if len(s.mappings) == 0 {
		return s.Unimplemented.GetMapping(ctx, request)
	}
	for _, m := range s.mappings {
		if m.Key == request.Key && (m.Provider == request.Provider || request.Provider == "") {
			return abi.GetMappingResponse{Provider: m.Provider, Data: m.Data}, nil
		}
	}
	message := s.pkg.Name + " has no mapping for " + request.Key
	if request.Provider != "" {
		message += " " + request.Provider
	}
	return abi.GetMappingResponse{}, abi.NewError(abi.ErrorKindNotFound, message)
}

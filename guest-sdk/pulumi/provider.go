package pulumi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Maker makes the server of a provider. engine is the address of the engine's services, which a
// provider's process gets as its argument.
type Maker = func(engine string) (pulumirpc.ResourceProviderServer, error)

// Serve serves the provider to the host that runs the module, and does not return. It is called where
// a program would call Main of Pulumi's SDK. If make fails, so does each call of the module. In a
// program that is not a module it prints how to build one, and exits with status 2.
func Serve(name string, make Maker) error {
	p, err := Provider(context.Background(), name, make)
	if err != nil {
		p = refused{err: abi.AsError(err)}
	}
	guest.ServeProvider(p)
	return nil
}

// refused serves the calls of a provider that could not be made.
type refused struct {
	abi.Unimplemented
	err error
}

func (r refused) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{}, r.err
}

func (r refused) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{}, r.err
}

// Provider returns the provider as an abi.Provider that runs in the calling program. The server's log goes to the log of ctx, see
// [guest.WithLog]. The result is an io.Closer, too, which ends the engine's services.
func Provider(ctx context.Context, name string, make Maker) (abi.Provider, error) {
	engine, err := listen(engineMethods(ctx))
	if err != nil {
		return nil, err
	}
	server, err := make(engine.address)
	if err != nil {
		engine.stop()
		return nil, err
	}
	return newProvider(name, &pulumirpc.ResourceProvider_ServiceDesc, server, engine), nil
}

// provider calls a server of the protocol.
type provider struct {
	abi.Unimplemented // for methods that Pulumi's protocol lacks, such as ephemeral values

	name    string
	server  any
	methods map[string]grpc.MethodDesc
	streams map[string]grpc.StreamDesc
	engine  *service

	// accepted has the features that the server understands.
	accepted atomic.Pointer[accepted]
	// undecided is true while the configuration holds unknowns. The server must not be called then.
	undecided atomic.Bool
	open      streams
}

var _ abi.Provider = (*provider)(nil)

func newProvider(name string, description *grpc.ServiceDesc, server any, engine *service) *provider {
	p := &provider{name: name, server: server, engine: engine, methods: map[string]grpc.MethodDesc{}, streams: map[string]grpc.StreamDesc{}}
	for _, m := range description.Methods {
		p.methods[m.MethodName] = m
	}
	for _, s := range description.Streams {
		p.streams[s.StreamName] = s
	}
	p.accepted.Store(&accepted{preview: true})
	return p
}

// Close ends what the provider calls the engine with.
func (p *provider) Close() error {
	p.engine.stop()
	return nil
}

// accepted says which values and calls a server understands.
type accepted struct {
	secrets, references, outputs, preview, autonaming bool
	// final is true once a handshake said so. Servers of the time before answer it to Configure.
	final bool
}

// foreign returns the kinds of values that the server does not understand. Only components get
// outputs.
func (a *accepted) foreign(component bool) []property.Kind {
	var kinds []property.Kind
	if !a.secrets {
		kinds = append(kinds, property.KindSecret)
	}
	if !a.references {
		kinds = append(kinds, property.KindResourceReference)
	}
	if !a.outputs || !component {
		kinds = append(kinds, property.KindOutput)
	}
	return kinds
}

// lower returns properties as the server understands them.
func (p *provider) lower(m property.Map) property.Map {
	return m.Lower(p.accepted.Load().foreign(false)...)
}

// lowerDependent is lower for the arguments of components and their methods.
func (p *provider) lowerDependent(m property.Map) property.Map {
	return m.Lower(p.accepted.Load().foreign(true)...)
}

// mark marks properties of a response secret whose namesake in the request holds a secret, because the
// server does not tell secrets apart.
func (p *provider) mark(response, request property.Map) property.Map {
	if p.accepted.Load().secrets || !request.ContainsSecrets() {
		return response
	}
	entries := slices.Clone(response.Entries())
	for i, e := range entries {
		if asked, ok := request.Lookup(e.Key); ok && asked.ContainsSecrets() && !e.Value.ContainsSecrets() {
			entries[i].Value = property.Secret(e.Value)
		}
	}
	return property.SortedMap(entries)
}

// markAll marks all properties of a result that was made of secret arguments.
func (p *provider) markAll(result, args property.Map) property.Map {
	if p.accepted.Load().secrets || !args.ContainsSecrets() {
		return result
	}
	entries := slices.Clone(result.Entries())
	for i := range entries {
		entries[i].Value = property.Secret(entries[i].Value)
	}
	return property.SortedMap(entries)
}

// call calls a method of the server. request fills the request, and answer, which may be nil, reads
// the response. A method that the server's version of the protocol lacks is not implemented.
func (p *provider) call(ctx context.Context, about urn.URN, method string, request func(message), answer func(message) error) error {
	m, ok := p.methods[method]
	if !ok {
		return unimplemented(method)
	}
	ctx, end := begin(ctx, about)
	defer end()
	if err := ctx.Err(); err != nil {
		return abi.AsError(err) // gRPC would not call the server either
	}
	response, err := m.Handler(p.server, ctx, func(in any) error { return requestOf(in, request) }, nil)
	if err != nil {
		return errorOf(err)
	}
	if answer == nil {
		return nil
	}
	r, err := messageOf(response)
	if err == nil {
		err = answer(r)
	}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e
	}
	if err != nil {
		return abi.NewError(abi.ErrorKindInternal, "the provider's answer to "+method+" cannot be read: "+err.Error())
	}
	return nil
}

func unimplemented(method string) error {
	return abi.NewError(abi.ErrorKindUnimplemented, "the provider does not implement "+method)
}

// decided returns an error while the configuration is not known.
func (p *provider) decided() error {
	if p.undecided.Load() {
		return abi.NewError(abi.ErrorKindUnavailable, "the configuration of "+p.name+
			" is not known in this preview: it depends on a resource that does not exist yet")
	}
	return nil
}

func failuresOf(response message) []abi.CheckFailure {
	var failures []abi.CheckFailure
	for _, f := range response.messages("failures") {
		failures = append(failures, abi.CheckFailure{Path: pathOf(f.text("property")), Reason: f.text("reason")})
	}
	return failures
}

func sortByKey[T any](list []T, key func(T) string) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

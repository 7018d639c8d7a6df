package guest

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Ephemeral is a function of a provider that opens ephemeral values, see [EphemeralOf].
type Ephemeral struct{ declaration }

// EphemeralOf returns the function with a token that opens ephemeral values, such as a token that
// is valid for an hour. Its arguments are the fields of A, and the value is the fields of R. A value
// is never recorded: programs may only pass it on to write-only inputs, to the configuration of
// providers, and to other such functions. The implementation may also be a [Renewer] or a [Closer].
func EphemeralOf[A, R any](token string, implementation Opener[A, R], options ...Option) Ephemeral {
	about := aboutOf(options)
	about.description = docs.Type(about.description, reflect.TypeOf(implementation))
	e := &ephemeral{open: func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, Lease, error) {
		opened, err := implementation.Open(ctx, *(*A)(args))
		return unsafe.Pointer(&opened.Value), opened.Lease, err
	}}
	e.renewer, _ = implementation.(Renewer)
	e.closer, _ = implementation.(Closer)
	var args A
	var result R
	return newEphemeral(token, about, e, properties{typ: reflect.TypeOf(args)}, properties{typ: reflect.TypeOf(result)})
}

//go:noinline
func newEphemeral(token string, about about, e *ephemeral, args, result properties) Ephemeral {
	return Ephemeral{declaration{token, func(s *server, b *shape.Builder) (err error) {
		added := *e
		if added.Function, added.args, added.result, err = s.addFunction(b, token, &about, args, result); err != nil {
			return err
		}
		added.Ephemeral = true
		if s.ephemerals == nil {
			s.ephemerals = ephemerals{}
		}
		s.ephemerals.(ephemerals)[token] = &added
		return unnamed(added.args)
	}}}
}

// Opener opens ephemeral values.
type Opener[A, R any] interface {
	// Open opens a value. Previews do so, too.
	Open(ctx context.Context, args A) (Opened[R], error)
}

// Opened is an ephemeral value that is open.
type Opened[R any] struct {
	_ incomparable

	Value R
	Lease
}

// Lease has the provider's own data of an open value, and the time to renew it.
type Lease struct {
	// Private has bytes for Renew and Close, which may run in another instance of the provider.
	Private []byte
	// RenewAfter is the time until the value must be renewed; 0 for never.
	RenewAfter time.Duration
}

// Renewer is implemented by functions whose values expire.
type Renewer interface {
	// Renew keeps a value open for longer.
	Renew(ctx context.Context, private []byte) (Lease, error)
}

// Closer is implemented by functions whose values should be closed when they are not needed any more.
type Closer interface {
	// Close closes a value. Closing a closed value is not an error.
	Close(ctx context.Context, private []byte) error
}

type ephemeral struct {
	*schema.Function
	args, result *shape.Shape
	open         func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, Lease, error)
	renewer      Renewer
	closer       Closer
}

// opener serves ephemeral values. It is an interface to keep its code out of modules without them.
type opener interface {
	open(ctx context.Context, s *server, request *abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error)
	renew(ctx context.Context, s *server, request *abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error)
	close(ctx context.Context, s *server, request *abi.CloseEphemeralRequest) error
}

func (s *server) OpenEphemeral(ctx context.Context, request abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	s = s.of(request.Token)
	if s.ephemerals == nil {
		return s.Unimplemented.OpenEphemeral(ctx, request)
	}
	response, err := s.ephemerals.open(ctx, s, &request)
	return response, answerError(err)
}

func (s *server) RenewEphemeral(ctx context.Context, request abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error) {
	s = s.of(request.Token)
	if s.ephemerals == nil {
		return s.Unimplemented.RenewEphemeral(ctx, request)
	}
	response, err := s.ephemerals.renew(ctx, s, &request)
	return response, answerError(err)
}

func (s *server) CloseEphemeral(ctx context.Context, request abi.CloseEphemeralRequest) error {
	s = s.of(request.Token)
	if s.ephemerals == nil {
		return s.Unimplemented.CloseEphemeral(ctx, request)
	}
	return answerError(s.ephemerals.close(ctx, s, &request))
}

// ephemerals are the functions that open ephemeral values, by token.
type ephemerals map[string]*ephemeral

func (all ephemerals) of(s *server, token string) (*ephemeral, error) {
	if e := all[token]; e != nil {
		return e, nil
	}
	return nil, s.noSuch("ephemeral function", token, s.pkg.NearestFunction(token))
}

func (all ephemerals) open(ctx context.Context, s *server, request *abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	e, err := all.of(s, request.Token)
	if err != nil {
		return abi.OpenEphemeralResponse{}, err
	}
	in, _, failures, leave, err := s.arguments(&ctx, e.Function, e.args, request.Args)
	if err != nil || len(failures) > 0 {
		return abi.OpenEphemeralResponse{Failures: failures}, err
	}
	defer leave.End()
	out, lease, err := e.open(ctx, in)
	if err != nil {
		return abi.OpenEphemeralResponse{}, err
	}
	result, err := e.result.Store(out)
	return abi.OpenEphemeralResponse{Result: result, Private: lease.Private, RenewAfter: lease.RenewAfter.Seconds()}, err
}

func (all ephemerals) renew(ctx context.Context, s *server, request *abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error) {
	e, err := all.of(s, request.Token)
	if err != nil || e.renewer == nil {
		return abi.RenewEphemeralResponse{Private: request.Private}, err
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	lease, err := e.renewer.Renew(ctx, request.Private)
	return abi.RenewEphemeralResponse{Private: lease.Private, RenewAfter: lease.RenewAfter.Seconds()}, err
}

func (all ephemerals) close(ctx context.Context, s *server, request *abi.CloseEphemeralRequest) error {
	e, err := all.of(s, request.Token)
	if err != nil || e.closer == nil {
		return err
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	return e.closer.Close(ctx, request.Private)
}

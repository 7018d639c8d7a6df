package guest

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Action is a function of a provider with a side effect that is not a resource, see [ActionOf].
type Action struct{ declaration }

// ActionOf returns the action with a token, whose arguments are the fields of A, such as to restart a
// server. run is called once each time that the action is due, and not in a preview.
func ActionOf[A any](token string, run func(ctx context.Context, args A) error, options ...Option) Action {
	about := aboutOf(options)
	about.description = docs.Function(about.description, reflect.ValueOf(run))
	var args A
	return newAction(token, about, &action{run: func(ctx context.Context, args unsafe.Pointer) error {
		return run(ctx, *(*A)(args))
	}}, properties{typ: reflect.TypeOf(args)})
}

//go:noinline
func newAction(token string, about about, a *action, args properties) Action {
	return Action{declaration{token, func(s *server, b *shape.Builder) (err error) {
		added := *a
		none := properties{typ: reflect.TypeFor[struct{}]()}
		if added.Function, added.args, _, err = s.addFunction(b, token, &about, args, none); err != nil {
			return err
		}
		added.Action = true
		if s.actions == nil {
			s.actions = actions{}
		}
		s.actions.(actions)[token] = &added
		return unnamed(added.args)
	}}}
}

type action struct {
	*schema.Function
	args *shape.Shape
	run  func(ctx context.Context, args unsafe.Pointer) error
}

// actor serves actions. It is an interface to keep its code out of modules without them.
type actor interface {
	run(ctx context.Context, s *server, request *abi.RunActionRequest) (abi.RunActionResponse, error)
}

func (s *server) RunAction(ctx context.Context, request abi.RunActionRequest) (abi.RunActionResponse, error) {
	s = s.of(request.Token)
	if s.actions == nil {
		return s.Unimplemented.RunAction(ctx, request)
	}
	response, err := s.actions.run(ctx, s, &request)
	return response, answerError(err)
}

// actions are by token.
type actions map[string]*action

func (all actions) run(ctx context.Context, s *server, request *abi.RunActionRequest) (abi.RunActionResponse, error) {
	a := all[request.Token]
	if a == nil {
		return abi.RunActionResponse{}, s.noSuch("action", request.Token, s.pkg.NearestFunction(request.Token))
	}
	if request.Preview {
		_, failures := a.Args.Check(request.Args) // which may be unknown yet
		return abi.RunActionResponse{Failures: failures}, nil
	}
	in, _, failures, leave, err := s.arguments(&ctx, a.Function, a.args, request.Args)
	if err != nil || len(failures) > 0 {
		return abi.RunActionResponse{Failures: failures}, err
	}
	defer leave.End()
	return abi.RunActionResponse{}, a.run(ctx, in)
}

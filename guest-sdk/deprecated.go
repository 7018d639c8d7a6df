// Package guest forwards to package [github.com/husk-dev/husk/guest-sdk/guest].
//
// Deprecated: Import github.com/husk-dev/husk/guest-sdk/guest, whose path ends with its name. It
// has all of this package, and what version 0.2.0 of the contract added. This package will be removed before
// version 1.0.0.
package guest

import (
	"context"
	"iter"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

const (
	SDK          = guest.SDK
	MaxParameter = guest.MaxParameter

	Add           = guest.Add
	AddReplace    = guest.AddReplace
	Delete        = guest.Delete
	DeleteReplace = guest.DeleteReplace
	Update        = guest.Update
	UpdateReplace = guest.UpdateReplace
)

type (
	CheckFailure             = guest.CheckFailure
	CheckRequest[I any]      = guest.CheckRequest[I]
	Checker[I any]           = guest.Checker[I]
	Child                    = guest.Child
	Component                = guest.Component
	Config                   = guest.Config
	ConstructRequest[I any]  = guest.ConstructRequest[I]
	Constructor[I, S any]    = guest.Constructor[I, S]
	CreateRequest[I any]     = guest.CreateRequest[I]
	CreateResponse[S any]    = guest.CreateResponse[S]
	Creator[I, S any]        = guest.Creator[I, S]
	Declaration              = guest.Declaration
	DeleteRequest[S any]     = guest.DeleteRequest[S]
	Deleter[S any]           = guest.Deleter[S]
	Deployment               = guest.Deployment
	DiffRequest[I, S any]    = guest.DiffRequest[I, S]
	DiffResponse             = guest.DiffResponse
	Differ[I, S any]         = guest.Differ[I, S]
	Function                 = guest.Function
	ListRequest              = guest.ListRequest
	ListResponse             = guest.ListResponse
	ListedResource           = guest.ListedResource
	Lister                   = guest.Lister
	Logger                   = guest.Logger
	Mapping                  = guest.Mapping
	Method                   = guest.Method
	MethodRequest[A any]     = guest.MethodRequest[A]
	Option                   = guest.Option
	Options                  = guest.Options
	Out[T any]               = guest.Out[T]
	Parameterized            = guest.Parameterized
	Parameters               = guest.Parameters
	PreviewRequest[I, S any] = guest.PreviewRequest[I, S]
	PreviewResponse[S any]   = guest.PreviewResponse[S]
	Previewer[I, S any]      = guest.Previewer[I, S]
	Props                    = guest.Props
	Provider                 = guest.Provider
	ReadRequest[I, S any]    = guest.ReadRequest[I, S]
	ReadResponse[I, S any]   = guest.ReadResponse[I, S]
	Reader[I, S any]         = guest.Reader[I, S]
	Resource                 = guest.Resource
	Source                   = guest.Source
	Stream                   = guest.Stream
	UpdateRequest[I, S any]  = guest.UpdateRequest[I, S]
	UpdateResponse[S any]    = guest.UpdateResponse[S]
	Updater[I, S any]        = guest.Updater[I, S]
)

var (
	Alias               = guest.Alias
	All                 = guest.All
	Concat              = guest.Concat
	ConfigFrom          = guest.ConfigFrom
	DeleteBeforeReplace = guest.DeleteBeforeReplace
	Deprecated          = guest.Deprecated
	Doc                 = guest.Doc
	FunctionFrom        = guest.FunctionFrom
	Identity            = guest.Identity
	InitFailed          = guest.InitFailed
	InvalidArgument     = guest.InvalidArgument
	Log                 = guest.Log
	NotFound            = guest.NotFound
	Now                 = guest.Now
	ResourceFrom        = guest.ResourceFrom
	Serve               = guest.Serve
	ServeProvider       = guest.ServeProvider
	Unavailable         = guest.Unavailable
	ValueOf             = guest.ValueOf
	WithClock           = guest.WithClock
	WithLog             = guest.WithLog
)

func Await[T any](d *Deployment, o Out[T]) (v T, known bool, err error) { return guest.Await(d, o) }

func Known[T any](v T) Out[T] { return guest.Known(v) }

func As[T any](from Source) Out[T] { return guest.As[T](from) }

func Secret[T any](o Out[T]) Out[T] { return guest.Secret(o) }

func Field[T any](from Source, path string) Out[T] { return guest.Field[T](from, path) }

func Apply[A, B any](from Out[A], f func(A) (B, error)) Out[B] { return guest.Apply(from, f) }

func ComponentOf[I, S any](token string, implementation Constructor[I, S], options ...Option) Component {
	return guest.ComponentOf(token, implementation, options...)
}

func ConfigOf[C any](configure func(ctx context.Context, config C) error) Config {
	return guest.ConfigOf(configure)
}

func FunctionOf[A, R any](token string, call func(ctx context.Context, args A) (R, error), options ...Option) Function {
	return guest.FunctionOf(token, call, options...)
}

func MethodOf[A, R any](name string, call func(ctx context.Context, request MethodRequest[A], d *Deployment) (R, error), options ...Option) Method {
	return guest.MethodOf(name, call, options...)
}

func ResourceOf[I, S any](token string, implementation Creator[I, S], options ...Option) Resource {
	return guest.ResourceOf(token, implementation, options...)
}

func StreamOf[A, R any](token string, call func(ctx context.Context, args A) iter.Seq2[R, error], options ...Option) Stream {
	return guest.StreamOf(token, call, options...)
}

package guest

import (
	"context"
	"iter"
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Stream is a function of a provider whose results come one by one, see [StreamOf].
type Stream struct{ declaration }

// StreamOf returns the function with a token, whose arguments are the fields of A, and whose results
// are the fields of R, one by one. The sequence is lazy: it stands still between two results, and stops if the caller closes the
// stream. An error ends it. The context lasts for the whole sequence.
//
// All results of a call with a secret argument are secret.
func StreamOf[A, R any](token string, call func(ctx context.Context, args A) iter.Seq2[R, error], options ...Option) Stream {
	about := aboutOf(options)
	about.description = docs.Function(about.description, reflect.ValueOf(call))
	return Stream{declaration{token, func(s *server, b *shape.Builder) error {
		var args A
		var result R
		f := &streaming{begin: func(ctx context.Context, args unsafe.Pointer) (func() (unsafe.Pointer, error), func()) {
			next, stop := iter.Pull2(call(ctx, *(*A)(args)))
			return func() (unsafe.Pointer, error) {
				result, err, ok := next()
				if !ok || err != nil {
					return nil, err
				}
				return unsafe.Pointer(&result), nil
			}, stop
		}}
		return s.addStream(b, token, &about, f, properties{typ: reflect.TypeOf(args)}, properties{typ: reflect.TypeOf(result)})
	}}}
}

// streaming is a registered function that streams. begin returns a function for the next result,
// which is nil after the last, and one that ends the stream.
type streaming struct {
	*schema.Function
	args, result *shape.Shape
	begin        func(ctx context.Context, args unsafe.Pointer) (next func() (unsafe.Pointer, error), stop func())
}

type streams struct {
	mu   sync.Mutex
	last abi.StreamHandle
	open map[abi.StreamHandle]*openStream
}

// maxOpenStreams bounds the open streams of a provider, because each has a stack: more than callers
// need, few enough to notice one that forgets to close them.
const maxOpenStreams = 64

// openStream is one stream. Its lock is held while a result is computed.
type openStream struct {
	mu     sync.Mutex
	next   func() (unsafe.Pointer, error)
	stop   func()
	cancel context.CancelFunc
	result *shape.Shape
	secret bool
	closed bool
}

func (s *server) addStream(b *shape.Builder, token string, about *about, f *streaming, args, result properties) (err error) {
	if f.Function, f.args, f.result, err = s.addFunction(b, token, about, args, result); err != nil {
		return err
	}
	f.Streams = true
	if s.streaming == nil {
		s.streaming = map[string]*streaming{}
		var all streamer = &streams{open: map[abi.StreamHandle]*openStream{}}
		s.streams.CompareAndSwap(nil, &all)
	}
	s.streaming[token] = f
	return nil
}

// streamer serves streams. It is an interface to keep its code out of modules without streams.
type streamer interface {
	begin(ctx context.Context, s *server, request *abi.InvokeRequest) (abi.StreamHandle, error)
	next(ctx context.Context, handle abi.StreamHandle) (*property.Map, error)
	end(handle abi.StreamHandle)
}

func (s *server) StreamInvoke(ctx context.Context, request abi.InvokeRequest) (abi.StreamHandle, error) {
	s = s.of(request.Token)
	if s.streaming == nil {
		return s.Unimplemented.StreamInvoke(ctx, request)
	}
	handle, err := (*s.streams.Load()).begin(ctx, s, &request)
	return handle, answerError(err)
}

func (s *server) StreamNext(ctx context.Context, handle abi.StreamHandle) (abi.StreamItem, error) {
	all := s.streams.Load()
	if all == nil {
		return s.Unimplemented.StreamNext(ctx, handle)
	}
	result, err := (*all).next(ctx, handle)
	return abi.StreamItem{Result: result}, answerError(err)
}

func (s *server) StreamClose(ctx context.Context, handle abi.StreamHandle) error {
	all := s.streams.Load()
	if all == nil {
		return s.Unimplemented.StreamClose(ctx, handle)
	}
	(*all).end(handle)
	return nil
}

func (all *streams) begin(ctx context.Context, s *server, request *abi.InvokeRequest) (abi.StreamHandle, error) {
	f := s.streaming[request.Token]
	if f == nil {
		return 0, s.noSuch("function that streams", request.Token, s.pkg.NearestFunction(request.Token))
	}
	if err := s.decided(ctx); err != nil {
		return 0, err
	}
	args, failures := f.Args.Check(request.Args)
	if len(failures) > 0 {
		return 0, abi.NewRefusal(failures)
	}
	if err := known("argument", args); err != nil {
		return 0, err
	}
	in, err := loaded(f.args, args)
	if err != nil {
		return 0, err
	}
	// The stream outlives the call that begins it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ctx, leave := s.within(ctx, "", 0)
	o := &openStream{result: f.result, secret: args.ContainsSecrets(), cancel: func() { cancel(); leave.End() }}
	o.next, o.stop = f.begin(ctx, in)
	handle, ok := all.add(o)
	if !ok {
		o.close()
		return 0, abi.NewError(abi.ErrorKindUnavailable, strconv.Itoa(maxOpenStreams)+" streams are open already: close one")
	}
	return handle, nil
}

func (all *streams) next(ctx context.Context, handle abi.StreamHandle) (*property.Map, error) {
	o := all.get(handle)
	if o == nil {
		return nil, abi.NewError(abi.ErrorKindNotFound, "there is no such stream, or it has ended")
	}
	if ctx.Err() != nil {
		o.cancel()
	}
	forget := context.AfterFunc(ctx, o.cancel)
	result, err := o.pull()
	forget()
	if err != nil || result == nil {
		all.remove(handle)
		o.close()
	}
	return result, err
}

func (all *streams) end(handle abi.StreamHandle) {
	if o := all.get(handle); o != nil {
		all.remove(handle)
		o.close()
	}
}

func (all *streams) add(o *openStream) (abi.StreamHandle, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.open) >= maxOpenStreams {
		return 0, false
	}
	all.last++
	all.open[all.last] = o
	return all.last, true
}

func (all *streams) get(handle abi.StreamHandle) *openStream {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.open[handle]
}

func (all *streams) remove(handle abi.StreamHandle) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, handle)
}

// pull computes the next result, nil after the last.
func (o *openStream) pull() (*property.Map, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, abi.NewError(abi.ErrorKindNotFound, "the stream was closed")
	}
	p, err := o.next()
	if p == nil || err != nil {
		return nil, err
	}
	result, err := o.result.Store(p)
	if err != nil {
		return nil, err
	}
	if o.secret {
		result = allSecret(result)
	}
	return &result, nil
}

// close ends the author's function, and waits for it with a cancelled context.
func (o *openStream) close() {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.stop()
	}
}

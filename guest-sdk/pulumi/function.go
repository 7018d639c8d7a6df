package pulumi

import (
	"context"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/husk-dev/husk/abi"
)

func (p *provider) Invoke(ctx context.Context, request abi.InvokeRequest) (response abi.InvokeResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	err = p.call(ctx, "", "Invoke", p.invocation(request), func(r message) (err error) {
		response, err = p.invoked(request, r)
		return err
	})
	return response, err
}

func (p *provider) invocation(request abi.InvokeRequest) func(message) {
	return func(q message) {
		q.set("tok", request.Token)
		q.setProperties("args", p.lower(request.Args))
		q.set("preview", request.Preview)
	}
}

func (p *provider) invoked(request abi.InvokeRequest, r message) (abi.InvokeResponse, error) {
	result, err := r.properties("return")
	return abi.InvokeResponse{Result: p.markAll(result, request.Args), Failures: failuresOf(r)}, err
}

// streams are the functions whose results are being pulled.
type streams struct {
	mu   sync.Mutex
	last abi.StreamHandle
	all  map[abi.StreamHandle]*stream
}

// stream is a function that runs while its results are pulled.
type stream struct {
	items  chan abi.StreamItem
	cancel context.CancelFunc
	// err is the error that the function ended with, once items is closed.
	err error
}

func (s *streams) add(added *stream) abi.StreamHandle {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[abi.StreamHandle]*stream{}
	}
	s.last++
	s.all[s.last] = added
	return s.last
}

func (s *streams) get(handle abi.StreamHandle) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[handle]
}

func (s *streams) close(handle abi.StreamHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.all[handle]; open != nil {
		open.cancel()
		delete(s.all, handle)
	}
}

func (s *streams) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.all {
		open.cancel()
	}
	s.all = nil
}

// StreamInvoke begins a function of a protocol before 3.161, which had them.
func (p *provider) StreamInvoke(_ context.Context, request abi.InvokeRequest) (abi.StreamHandle, error) {
	const method = "StreamInvoke"
	if err := p.decided(); err != nil {
		return 0, err
	}
	if _, ok := p.streams[method]; !ok {
		return 0, unimplemented(method)
	}
	// The function goes on after this call.
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{items: make(chan abi.StreamItem), cancel: cancel}
	go func() {
		defer close(s.items)
		s.err = p.stream(ctx, method, p.invocation(request), func(r message) error {
			item, err := p.invoked(request, r)
			if err != nil {
				return err
			}
			if len(item.Failures) > 0 {
				f := item.Failures[0]
				return &abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: f.Reason, Path: f.Path}
			}
			select {
			case s.items <- abi.StreamItem{Result: &item.Result}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return p.open.add(s), nil
}

func (p *provider) StreamNext(ctx context.Context, handle abi.StreamHandle) (abi.StreamItem, error) {
	s := p.open.get(handle)
	if s == nil {
		return abi.StreamItem{}, abi.NewError(abi.ErrorKindInvalidArgument, "the stream is closed")
	}
	ctx, end := begin(ctx, "")
	defer end()
	select {
	case item, more := <-s.items:
		if more {
			return item, nil
		}
		p.open.close(handle)
		return abi.StreamItem{}, s.err
	case <-ctx.Done():
		return abi.StreamItem{}, abi.AsError(ctx.Err())
	}
}

func (p *provider) StreamClose(_ context.Context, handle abi.StreamHandle) error {
	p.open.close(handle)
	return nil
}

// stream calls a method that answers several messages, and has each of them taken.
func (p *provider) stream(ctx context.Context, method string, request func(message), take func(message) error) error {
	m, ok := p.streams[method]
	if !ok {
		return unimplemented(method)
	}
	if err := ctx.Err(); err != nil {
		return abi.AsError(err)
	}
	s := &serverStream{ctx: ctx, request: request, take: take}
	err := m.Handler(p.server, s)
	if s.err != nil {
		return errorOf(s.err) // which the server answered in its own words, or not at all
	}
	return errorOf(err)
}

// serverStream is the server's end of a stream in memory.
type serverStream struct {
	ctx     context.Context
	request func(message)
	take    func(message) error
	// err is the error of take.
	err error
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) RecvMsg(in any) error { return requestOf(in, s.request) }

func (s *serverStream) SendMsg(out any) error {
	r, err := messageOf(out)
	if err == nil {
		err = s.ctx.Err()
	}
	if err == nil {
		err = s.take(r)
	}
	if s.err == nil {
		s.err = err
	}
	return err
}

// Nobody reads headers and trailers.

func (s *serverStream) SetHeader(metadata.MD) error  { return nil }
func (s *serverStream) SendHeader(metadata.MD) error { return nil }
func (s *serverStream) SetTrailer(metadata.MD)       {}

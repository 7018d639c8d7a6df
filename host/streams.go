package host

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/limit"
)

// streams are the open streams of a provider. A stream lives in the instance that
// began it, and keeps it until the stream ends.
type streams struct {
	mu   sync.Mutex
	last abi.StreamHandle
	open map[abi.StreamHandle]*stream
	// starting counts streams that are not in open yet.
	starting int
}

// stream is one open stream. Its lock is held while a call is in its instance.
type stream struct {
	mu       sync.Mutex
	instance *instance
	handle   abi.StreamHandle // the guest's own
	declared declared
	closed   bool
}

func (s *streams) reserve(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open)+s.starting >= most {
		return false
	}
	s.starting++
	return true
}

// settle ends a reservation, with a stream where one was begun.
func (s *streams) settle(begun *stream) abi.StreamHandle {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	if begun == nil {
		return 0
	}
	if s.open == nil {
		s.open = make(map[abi.StreamHandle]*stream)
	}
	s.last++
	s.open[s.last] = begun
	return s.last
}

func (s *streams) get(handle abi.StreamHandle) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[handle]
}

func (s *streams) remove(handle abi.StreamHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, handle)
}

func (s *streams) takeAll() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*stream
	for _, open := range s.open {
		all = append(all, open)
	}
	s.open = nil
	return all
}

// close frees the stream's instance, unless a call is in it. Such a call, which the
// closing of the provider has stopped, does so itself.
func (s *stream) close() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.instance.Close()
	}
}

// StreamInvoke begins a function whose results come one by one. The stream must be
// read to its end or closed.
func (p *Provider) StreamInvoke(ctx context.Context, request abi.InvokeRequest) (abi.StreamHandle, error) {
	const method = abi.MethodStreamInvoke
	if most := p.config.limits.Streams; !p.streams.reserve(most) {
		return 0, p.refuse(method, &limit.ExceededError{Limit: limit.Streams, Most: uint64(most)})
	}
	begun, err := p.beginStream(ctx, method, request)
	handle := p.streams.settle(begun)
	if err != nil {
		return 0, err
	}
	if p.isClosed() { // since the stream began, and has not seen it
		p.streams.remove(handle)
		begun.close()
		return 0, p.gone(method)
	}
	return handle, nil
}

func (p *Provider) beginStream(ctx context.Context, method abi.Method, request abi.InvokeRequest) (*stream, error) {
	declared := p.declaredOf(ctx, method, abi.Subject{Token: request.Token})
	p.needWhole() // a stream's instance must not be replaced by another
	i, err := p.take(ctx, method)
	if err != nil {
		return nil, err
	}
	s := &stream{instance: i, declared: declared}
	err = i.run(ctx, method, func(ctx context.Context) error {
		s.handle, err = i.guest.StreamInvoke(ctx, request)
		return err
	})
	if err != nil {
		p.put(i)
		return nil, err
	}
	p.instances.Leave() // the instance is the stream's now
	return s, nil
}

// StreamNext returns the next result of a stream. After the last, and after an error,
// the stream is closed.
func (p *Provider) StreamNext(ctx context.Context, handle abi.StreamHandle) (item abi.StreamItem, err error) {
	const method = abi.MethodStreamNext
	s := p.streams.get(handle)
	if s == nil {
		return item, p.fail(method, abi.ErrorKindNotFound, "there is no such stream, or it has ended")
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return item, p.fail(method, abi.ErrorKindNotFound, "the stream was closed")
	}
	p.budget.Enter()
	err = s.instance.run(ctx, method, func(ctx context.Context) error {
		item, err = s.instance.guest.StreamNext(ctx, s.handle)
		return err
	})
	p.budget.Leave()
	s.mu.Unlock()
	if err == nil && item.Result != nil {
		err = p.breach(method, p.check(answer{role: abi.RoleResult, properties: *item.Result, declared: s.declared}))
	}
	if err != nil || item.Result == nil || p.isClosed() {
		p.streams.remove(handle)
		s.close()
	}
	if err != nil {
		return abi.StreamItem{}, err
	}
	return item, nil
}

// StreamClose closes a stream before its end.
func (p *Provider) StreamClose(ctx context.Context, handle abi.StreamHandle) error {
	s := p.streams.get(handle)
	if s == nil {
		return nil
	}
	p.streams.remove(handle)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	p.budget.Enter()
	defer p.budget.Leave()
	defer s.instance.Close()
	return s.instance.run(ctx, abi.MethodStreamClose, func(ctx context.Context) error {
		return s.instance.guest.StreamClose(ctx, s.handle)
	})
}

package capability

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/base/httprequest"
)

// HTTP is the way out over HTTP for one call of a provider. The host does all of it: names, connections, TLS. Exchanges that the
// call leaves open end with its context.
type HTTP struct {
	Client *HTTPClient
	Used   Uses
	Ledger Ledger
	// Descriptors are the instance's descriptors.
	Descriptors *Descriptors
	handles[abi.HTTPExchange, *httpExchange]
}

var (
	_ abi.HTTP = (*HTTP)(nil)
	_ Held     = (*HTTP)(nil)
)

// Send does a whole exchange.
func (h *HTTP) Send(ctx context.Context, r abi.HTTPRequest) (abi.HTTPResponse, error) {
	x, err := h.begin(ctx, r)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	defer x.close()
	head, err := h.finish(x)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	body, err := x.readAll()
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	return abi.HTTPResponse{
		Status: head.Status, Headers: head.Headers, Body: body, Trailers: headerList(x.response.Trailer),
	}, nil
}

// begin checks a request, and lists it.
func (h *HTTP) begin(ctx context.Context, r abi.HTTPRequest) (*httpExchange, error) {
	x, err := h.Client.begin(ctx, r, h.Ledger)
	if target, invalid := httprequest.ParseTarget(r.URL); invalid == nil && (err == nil || errors.Is(err, abi.ErrDenied)) {
		h.note(r, target, err)
	}
	return x, err
}

// finish ends a request, and lists that its name led to an address that is not granted.
func (h *HTTP) finish(x *httpExchange) (abi.HTTPResponseHead, error) {
	head, err := x.finish()
	if errors.Is(err, abi.ErrDenied) {
		h.note(abi.HTTPRequest{Method: x.request.Method, URL: x.target.URL.String()}, x.target, err)
	}
	return head, err
}

// requestOf returns the part of a request that a grant must allow.
func requestOf(r abi.HTTPRequest, target *httprequest.Target) *httprequest.Request {
	req := httprequest.New(r.Method, target)
	for _, h := range r.Headers {
		req.Header(h.Name, string(h.Value))
	}
	return req
}

// note lists a request.
func (h *HTTP) note(r abi.HTTPRequest, target *httprequest.Target, err error) {
	if h.Used == nil {
		return
	}
	req := requestOf(r, target)
	needs := grant.Text{Capability: grant.NameHTTP, Scope: target.String(), Methods: req.Methods}
	if req.Elsewhere != "" {
		needs.Scope = target.Origin()
	}
	h.Used.Note(needs, r.Method+" "+target.String(), err)
}

// Open begins an exchange in parts.
func (h *HTTP) Open(ctx context.Context, r abi.HTTPRequest) (abi.HTTPExchange, error) {
	x, err := h.another(ctx, r)
	if err != nil {
		return 0, err
	}
	return h.add(x), nil
}

// another checks a request, unless there are too many.
func (h *HTTP) another(ctx context.Context, r abi.HTTPRequest) (*httpExchange, error) {
	if len(h.open) >= MaxHTTPExchanges {
		return nil, Failure(abi.ErrorKindUnavailable,
			fmt.Sprintf("%d HTTP exchanges of the call are open already: close one, which reading a response to its end does not do", MaxHTTPExchanges))
	}
	h.descriptors = h.Descriptors
	return h.begin(ctx, r)
}

// Begin begins an exchange that the guest waits for by a descriptor.
func (h *HTTP) Begin(ctx context.Context, r abi.HTTPRequest, whole bool) (abi.HTTPExchange, error) {
	x, err := h.another(ctx, r)
	if err != nil {
		return 0, err
	}
	if err = x.hold(2 * bufferSize); err == nil {
		err = x.stream(h.Descriptors, whole)
	}
	if err != nil {
		x.close()
		return 0, err
	}
	return h.add(x), nil
}

// Status returns the error of an exchange of Begin.
func (h *HTTP) Status(_ context.Context, handle abi.HTTPExchange) error {
	x, err := h.exchange(handle)
	switch {
	case err != nil:
		return err
	case x.streamed == nil:
		return Failure(abi.ErrorKindInvalidArgument, "the HTTP exchange has no descriptor: finish returns its error")
	}
	err = x.streamed.failure()
	if errors.Is(err, abi.ErrDenied) {
		h.note(abi.HTTPRequest{Method: x.request.Method, URL: x.target.URL.String()}, x.target, err)
	}
	return err
}

// Socket returns the exchange as a guest's system has it, nil for none.
func (h *HTTP) Socket(fd uint32) wasi.Socket {
	if x, ok := h.open[abi.HTTPExchange(fd)]; ok && x.streamed != nil {
		return x.streamed
	}
	return nil
}

func (h *HTTP) exchange(handle abi.HTTPExchange) (*httpExchange, error) {
	return h.get(handle, "there is no such HTTP exchange: it was closed, or ended with the call that opened it")
}

// inParts returns an exchange that the host waits for in the guest's place. One of Begin is a descriptor, whose response
// another goroutine receives.
func (h *HTTP) inParts(handle abi.HTTPExchange) (*httpExchange, error) {
	x, err := h.exchange(handle)
	if err == nil && x.streamed != nil {
		return nil, Failure(abi.ErrorKindInvalidArgument, "the HTTP exchange is a descriptor: read and write it as one, with fd_read and fd_write")
	}
	return x, err
}

// Write sends a part of a request's body.
func (h *HTTP) Write(_ context.Context, handle abi.HTTPExchange, data []byte) error {
	x, err := h.inParts(handle)
	if err != nil {
		return err
	}
	return x.write(data)
}

// Finish ends a request.
func (h *HTTP) Finish(_ context.Context, handle abi.HTTPExchange) (abi.HTTPResponseHead, error) {
	x, err := h.inParts(handle)
	if err != nil {
		return abi.HTTPResponseHead{}, err
	}
	return h.finish(x)
}

// Read returns a part of a response's body.
func (h *HTTP) Read(_ context.Context, handle abi.HTTPExchange, most uint32) (abi.HTTPChunk, error) {
	x, err := h.inParts(handle)
	if err != nil {
		return abi.HTTPChunk{}, err
	}
	return x.read(most)
}

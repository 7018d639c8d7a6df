package capability

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/httpask"
)

// HTTP is the way out over HTTP for one call of a provider. The host does all of
// it: names, connections, TLS. What the call leaves open ends with its context.
type HTTP struct {
	Client *HTTPClient
	Used   Uses
	Ledger Ledger
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
	if target, invalid := httpask.ParseTarget(r.URL); invalid == nil && (err == nil || errors.Is(err, abi.ErrDenied)) {
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

// note lists a request.
func (h *HTTP) note(r abi.HTTPRequest, target *httpask.Target, err error) {
	if h.Used == nil {
		return
	}
	ask := httpask.New(r, target)
	needs := grant.Text{Capability: grant.NameHTTP, Scope: target.String(), Methods: ask.Methods}
	if ask.Elsewhere != "" {
		needs.Scope = target.Origin()
	}
	h.Used.Note(needs, r.Method+" "+target.String(), err)
}

// Open begins an exchange in parts.
func (h *HTTP) Open(ctx context.Context, r abi.HTTPRequest) (abi.HTTPExchange, error) {
	if len(h.open) >= MaxHTTPExchanges {
		return 0, Failure(abi.ErrorKindUnavailable,
			fmt.Sprintf("%d HTTP exchanges of the call are open already: close one, which reading a response to its end does not do", MaxHTTPExchanges))
	}
	x, err := h.begin(ctx, r)
	if err != nil {
		return 0, err
	}
	return h.add(x), nil
}

func (h *HTTP) exchange(handle abi.HTTPExchange) (*httpExchange, error) {
	return h.get(handle, "there is no such HTTP exchange: it was closed, or ended with the call that opened it")
}

// Write sends a part of a request's body.
func (h *HTTP) Write(_ context.Context, handle abi.HTTPExchange, data []byte) error {
	x, err := h.exchange(handle)
	if err != nil {
		return err
	}
	return x.write(data)
}

// Finish ends a request.
func (h *HTTP) Finish(_ context.Context, handle abi.HTTPExchange) (abi.HTTPResponseHead, error) {
	x, err := h.exchange(handle)
	if err != nil {
		return abi.HTTPResponseHead{}, err
	}
	return h.finish(x)
}

// Read returns a part of a response's body.
func (h *HTTP) Read(_ context.Context, handle abi.HTTPExchange, most uint32) (abi.HTTPChunk, error) {
	x, err := h.exchange(handle)
	if err != nil {
		return abi.HTTPChunk{}, err
	}
	return x.read(most)
}

package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/husk-dev/husk/abi"
)

// failure is an error of the host's that also is the context's that it comes from.
type failure struct {
	host    error
	context error // nil if the context has not ended
}

// fail makes an error what package net/http would answer.
func fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	f := failure{host: err, context: ctx.Err()}
	if deadline, ok := ctx.Deadline(); ok && f.context == nil && errors.Is(err, abi.ErrUnavailable) && !time.Now().Before(deadline) {
		f.context = context.DeadlineExceeded
	}
	if f.context == nil && errors.Is(err, abi.ErrCancelled) {
		f.context = context.Canceled
	}
	return f
}

func (f failure) Error() string { return f.host.Error() }

func (f failure) Unwrap() []error {
	if f.context == nil {
		return []error{f.host}
	}
	return []error{f.host, f.context}
}

// Timeout is part of net.Error, by which callers of package net/http tell timeouts.
func (f failure) Timeout() bool { return errors.Is(f.context, context.DeadlineExceeded) }

func (f failure) Temporary() bool { return f.Timeout() }

func roundTrip(host abi.HTTP, request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if request.Body != nil {
		defer request.Body.Close()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sent, err := requestOf(request)
	if err != nil {
		return nil, err
	}
	whole, err := firstPart(request, &sent)
	if err != nil {
		return nil, err
	}
	handle, err := host.Open(ctx, sent)
	if err != nil {
		return nil, fail(ctx, err)
	}
	head, err := exchange(ctx, host, handle, request, whole)
	if err != nil {
		host.Close(ctx, handle)
		return nil, err
	}
	response := responseOf(head, request)
	response.Body = &body{ctx: ctx, host: host, handle: handle, response: response}
	return response, nil
}

// chunk is the size of the parts of bodies in bytes: crossing the boundary does not matter, and it fits
// into a module.
const chunk = 64 << 10

// requestOf returns a request without its body.
func requestOf(request *http.Request) (abi.HTTPRequest, error) {
	if request.URL == nil || request.URL.Host == "" {
		return abi.HTTPRequest{}, errors.New("http: the request has no URL with a host in it")
	}
	u := *request.URL
	u.User, u.Fragment, u.RawFragment = nil, "", "" // a client has made a header of the user
	sent := abi.HTTPRequest{Method: request.Method, URL: u.String()}
	if sent.Method == "" {
		sent.Method = http.MethodGet
	}
	if deadline, ok := request.Context().Deadline(); ok {
		// Rounded up: the deadline has passed when the host says so, and a late request has a limit.
		sent.TimeoutMs = uint64(max(0, time.Until(deadline).Milliseconds()) + 1)
	}
	for name, values := range request.Header {
		for _, value := range values {
			sent.Headers = append(sent.Headers, abi.HTTPHeader{Name: name, Value: []byte(value)})
		}
	}
	if request.Host != "" && request.Host != u.Host {
		sent.Headers = append(sent.Headers, abi.HTTPHeader{Name: "Host", Value: []byte(request.Host)})
	}
	return sent, nil
}

// firstPart reads the first part of the request's body, and reports whether that is the whole.
func firstPart(request *http.Request, sent *abi.HTTPRequest) (whole bool, err error) {
	if request.Body == nil || request.Body == http.NoBody {
		return true, nil
	}
	part := make([]byte, chunk)
	n, err := io.ReadFull(request.Body, part)
	sent.Body = part[:n]
	switch err {
	case io.EOF, io.ErrUnexpectedEOF:
		return true, nil
	case nil:
		if request.ContentLength > 0 {
			length := strconv.AppendInt(nil, request.ContentLength, 10)
			sent.Headers = append(sent.Headers, abi.HTTPHeader{Name: "Content-Length", Value: length})
		}
	}
	return false, err
}

// exchange sends the rest of a request's body and returns the head of the response.
func exchange(ctx context.Context, host abi.HTTP, handle abi.HTTPExchange, request *http.Request, whole bool) (abi.HTTPResponseHead, error) {
	for part := make([]byte, 0); !whole; {
		if err := ctx.Err(); err != nil {
			return abi.HTTPResponseHead{}, err
		}
		if len(part) == 0 {
			part = make([]byte, chunk)
		}
		n, err := request.Body.Read(part)
		if whole = errors.Is(err, io.EOF); err != nil && !whole {
			return abi.HTTPResponseHead{}, err
		}
		if n > 0 {
			if err := host.Write(ctx, handle, part[:n]); err != nil {
				return abi.HTTPResponseHead{}, fail(ctx, err)
			}
		}
	}
	head, err := host.Finish(ctx, handle)
	return head, fail(ctx, err)
}

// responseOf returns a response without its body.
func responseOf(head abi.HTTPResponseHead, request *http.Request) *http.Response {
	response := &http.Response{
		StatusCode: int(head.Status), Status: strconv.Itoa(int(head.Status)) + " " + http.StatusText(int(head.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: headerOf(head.Headers), Request: request, ContentLength: -1,
	}
	if n, err := strconv.ParseInt(response.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		response.ContentLength = n
	} else if head.Status == http.StatusNoContent {
		response.ContentLength = 0
	}
	return response
}

func headerOf(list []abi.HTTPHeader) http.Header {
	headers := make(http.Header, len(list))
	for _, h := range list {
		headers.Add(h.Name, string(h.Value))
	}
	return headers
}

type body struct {
	ctx      context.Context
	host     abi.HTTP
	handle   abi.HTTPExchange
	response *http.Response
	// rest has the received bytes that are not read yet.
	rest []byte
	// err ends the body.
	err error
}

var errClosed = errors.New("http: read on closed response body")

func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if err := b.ctx.Err(); err != nil {
			b.end(err)
			continue
		}
		received, err := b.host.Read(b.ctx, b.handle, chunk)
		switch {
		case err != nil:
			b.end(fail(b.ctx, err))
		case len(received.Data) == 0:
			b.response.Trailer = headerOf(received.Trailers)
			b.end(io.EOF)
		}
		b.rest = received.Data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error {
	if b.err == nil {
		b.end(errClosed)
	}
	b.rest = nil
	return nil
}

func (b *body) end(err error) {
	b.err = err
	b.host.Close(b.ctx, b.handle)
}

package capability

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/httprequest"
	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/base/trace"
)

// httpExchange is one request and its response. It ends with the call that began it,
// whose context it has.
type httpExchange struct {
	client    *HTTPClient
	target    *httprequest.Target
	request   *http.Request
	transport *http.Transport

	// call is the context of the provider's call, ctx the exchange's own.
	call, ctx context.Context
	cancel    context.CancelFunc
	timeout   time.Duration

	// first is the part of the body that came with the request.
	first []byte
	// body takes the further parts; nil if there are none.
	body *io.PipeWriter
	// done is closed once response or err is set.
	done     chan struct{}
	response *http.Response
	err      error

	// ledger counts the bytes held for the exchange.
	ledger Ledger
	held   uint64

	finished bool
	sent     int64
	received int64
	// streamed is the stream that the guest waits for; nil if the host waits in its place.
	streamed *httpStream
}

// begin checks a request. Nothing is sent yet. The exchange is to be closed.
func (c *HTTPClient) begin(call context.Context, r abi.HTTPRequest, l Ledger) (*httpExchange, error) {
	invalid := func(err error) error {
		return Failure(abi.ErrorKindInvalidArgument, "the HTTP request: "+err.Error())
	}
	target, err := httprequest.ParseTarget(r.URL)
	if err != nil {
		return nil, invalid(err)
	}
	// CONNECT would make a tunnel, and the answer to TRACE has headers that the guest must
	// not see.
	if !httprequest.IsToken(r.Method) || r.Method == http.MethodConnect || strings.EqualFold(r.Method, http.MethodTrace) {
		return nil, invalid(fmt.Errorf("%q is not a method that can be sent", r.Method))
	}
	req := requestOf(r, target)
	allowed, err := c.admit(req)
	if err != nil {
		return nil, err
	}
	if len(r.Body) > MaxHTTPBody {
		return nil, invalid(fmt.Errorf("the body has %d bytes, at most %d can be sent as a whole; send it in parts", len(r.Body), MaxHTTPBody))
	}
	x := &httpExchange{client: c, target: target, call: call, first: r.Body, sent: int64(len(r.Body)), done: make(chan struct{})}
	x.timeout = DefaultHTTPTimeout
	if r.TimeoutMs > 0 {
		x.timeout = time.Duration(min(r.TimeoutMs, uint64(MaxHTTPTimeout/time.Millisecond))) * time.Millisecond
	}
	x.ctx, x.cancel = context.WithTimeout(call, x.timeout)
	x.request = (&http.Request{
		Method: r.Method, URL: target.URL, Host: target.URL.Host, Header: make(http.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}).WithContext(x.ctx)
	if err := x.setHeaders(r.Headers); err != nil {
		x.cancel()
		return nil, invalid(err)
	}
	for _, h := range allowed.Headers() {
		folded := httprequest.FoldHeader(h.Name)
		maps.DeleteFunc(x.request.Header, func(name string, _ []string) bool { return httprequest.FoldHeader(name) == folded })
		x.request.Header.Set(h.Name, h.Value)
	}
	x.transport = c.transport(c.inside(req))
	held := exchangeBytes + uint64(len(r.Body)+len(r.URL))
	for _, h := range r.Headers {
		held += uint64(len(h.Name) + len(h.Value))
	}
	if err := l.Acquire(r.Method+" "+target.String(), 1, held); err != nil {
		x.cancel()
		return nil, err
	}
	x.ledger, x.held = l, held
	return x, nil
}

// setHeaders takes over a guest's headers, except for those by which a request could
// become another one than was checked.
func (x *httpExchange) setHeaders(headers []abi.HTTPHeader) error {
	if len(headers) > MaxHTTPHeaders {
		return fmt.Errorf("it has %d headers, at most %d are possible", len(headers), MaxHTTPHeaders)
	}
	size := 0
	for _, h := range headers {
		if size += len(h.Name) + len(h.Value); size > MaxHTTPHeaderBytes {
			return fmt.Errorf("its headers have more than %d bytes", MaxHTTPHeaderBytes)
		}
		if !httprequest.IsToken(h.Name) {
			return fmt.Errorf("%q is not the name of a header", h.Name)
		}
		value := string(h.Value)
		if httprequest.HasControl(value) {
			return fmt.Errorf("the header %s has a control character in it", h.Name)
		}
		switch name, folded := http.CanonicalHeaderKey(h.Name), httprequest.FoldHeader(h.Name); {
		case httprequest.IsHostHeader(folded):
			if host, err := httprequest.ParseTarget(x.target.URL.Scheme + "://" + value); err != nil || host.URL.Host != x.target.URL.Host {
				return fmt.Errorf("the header %s is %q, but the URL's host is %s", h.Name, value, x.target.URL.Host)
			}
			if name != "Host" {
				x.request.Header.Add(name, value)
			}
		case folded == "Forwarded" && strings.Contains(strings.ToLower(value), "host"):
			return fmt.Errorf("the header %s names a host, which the URL does", h.Name)
		case name == "Content-Length":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a Content-Length", value)
			}
			x.request.ContentLength = n
		case httprequest.IsConnectionHeader(folded):
			return fmt.Errorf("the header %s is of the connection, which is the host's matter", name)
		default:
			x.request.Header.Add(name, value)
		}
	}
	if _, ok := x.request.Header["User-Agent"]; !ok {
		x.request.Header.Set("User-Agent", "husk")
	}
	if span := trace.From(x.call); span != nil && x.request.Header["Traceparent"] == nil {
		x.request.Header.Set("Traceparent", span.ID().Traceparent())
	}
	return nil
}

// write sends a part of the body. A server that has answered already does not want it.
func (x *httpExchange) write(data []byte) error {
	if x.finished {
		return Failure(abi.ErrorKindInvalidArgument, "the request's body was ended before")
	}
	if x.sent += int64(len(data)); x.sent > MaxHTTPStream {
		return Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("the request's body has more than %d bytes", int64(MaxHTTPStream)))
	}
	if x.body == nil {
		var rest *io.PipeReader
		rest, x.body = io.Pipe()
		context.AfterFunc(x.ctx, func() { rest.CloseWithError(x.ctx.Err()) })
		x.request.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(x.first), rest), rest}
		go x.send()
	}
	if _, err := x.body.Write(data); err == nil {
		return nil
	}
	<-x.done // nobody reads the body any more: there is an answer, or there will be none
	if x.err != nil {
		return x.failed(x.err)
	}
	return nil
}

// send does the exchange up to the response's head.
func (x *httpExchange) send() {
	defer close(x.done)
	x.roundTrip()
}

func (x *httpExchange) roundTrip() {
	x.response, x.err = x.transport.RoundTrip(x.request)
	if x.err == nil && x.response.StatusCode < http.StatusOK {
		// Nobody has asked to switch protocols. The server's further bytes are not a response, and the connection would stay open
		// beyond the exchange.
		x.response.Body.Close()
		x.response, x.err = nil, fmt.Errorf("the server answered %s, which does not end a request", x.response.Status)
	}
}

// finish ends the request's body and waits for the response's head.
func (x *httpExchange) finish() (abi.HTTPResponseHead, error) {
	if x.finished {
		return abi.HTTPResponseHead{}, Failure(abi.ErrorKindInvalidArgument, "the request was finished before")
	}
	x.finished = true
	if x.body != nil {
		x.body.Close()
		<-x.done
	} else {
		if err := x.setWhole(); err != nil {
			return abi.HTTPResponseHead{}, err
		}
		x.send()
	}
	if x.err != nil {
		return abi.HTTPResponseHead{}, x.failed(x.err)
	}
	if err := x.hold(x.ofResponse()); err != nil {
		return abi.HTTPResponseHead{}, err
	}
	return abi.HTTPResponseHead{Status: uint16(x.response.StatusCode), Headers: headerList(x.response.Header)}, nil
}

// setWhole makes what came with the request its body.
func (x *httpExchange) setWhole() error {
	x.request.Body = http.NoBody
	if declared := x.request.ContentLength; declared >= 0 && declared != int64(len(x.first)) {
		return Failure(abi.ErrorKindInvalidArgument,
			fmt.Sprintf("the request's Content-Length is %d, but its body has %d bytes", declared, len(x.first)))
	}
	if x.request.ContentLength = int64(len(x.first)); len(x.first) > 0 {
		x.request.Body = io.NopCloser(bytes.NewReader(x.first))
		x.request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.first)), nil }
	}
	return nil
}

// ofResponse returns the memory that the host holds for a response, in bytes.
func (x *httpExchange) ofResponse() (bytes uint64) {
	for name, values := range x.response.Header {
		for _, value := range values {
			bytes += uint64(len(name) + len(value))
		}
	}
	if x.response.ProtoMajor > 1 {
		bytes += http2Window
	}
	return bytes
}

// read returns a part of the response's body, an empty one at its end.
func (x *httpExchange) read(most uint32) (abi.HTTPChunk, error) {
	if x.response == nil || !x.finished {
		return abi.HTTPChunk{}, Failure(abi.ErrorKindInvalidArgument, "there is no response yet: finish the request first")
	}
	data := make([]byte, max(1, min(most, MaxHTTPChunk)))
	if err := x.ledger.Pass(x.what(), uint64(len(data))); err != nil {
		return abi.HTTPChunk{}, err
	}
	for {
		n, err := x.response.Body.Read(data)
		if x.received += int64(n); x.received > MaxHTTPStream {
			return abi.HTTPChunk{}, x.tooLarge(MaxHTTPStream)
		}
		switch {
		case n > 0: // an error comes again
			return abi.HTTPChunk{Data: data[:n]}, nil
		case errors.Is(err, io.EOF):
			return abi.HTTPChunk{Trailers: headerList(x.response.Trailer)}, nil
		case err != nil:
			return abi.HTTPChunk{}, x.failed(err)
		}
	}
}

// readAll returns a response's whole body.
func (x *httpExchange) readAll() ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			larger := max(4<<10, 2*cap(body))
			if err := x.hold(uint64(larger)); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, larger), body...)
			x.held -= uint64(len(body)) // of the one before, which was full
			x.ledger.Release(uint64(len(body)))
		}
		n, err := x.response.Body.Read(body[len(body):min(cap(body), MaxHTTPBody+1)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxHTTPBody:
			return nil, x.tooLarge(MaxHTTPBody)
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, x.failed(err)
		}
	}
}

// hold counts bytes that are held until the exchange is closed.
func (x *httpExchange) hold(bytes uint64) error {
	err := x.ledger.Hold(x.what(), bytes)
	if err == nil {
		x.held += bytes
	}
	return err
}

func (x *httpExchange) what() string { return x.request.Method + " " + x.target.String() }

func (x *httpExchange) tooLarge(limit int64) error {
	return Failure(abi.ErrorKindInternal, fmt.Sprintf("%s: the response has more than %d bytes", x.what(), limit))
}

// close gives the exchange up.
func (x *httpExchange) close() {
	x.cancel()
	if x.streamed != nil {
		x.streamed.close()
	}
	if x.body != nil || x.streamed != nil {
		<-x.done
	}
	if x.response != nil {
		x.response.Body.Close()
	}
	x.ledger.Abandon(1, x.held)
}

// headerList orders headers by name, so that a guest sees them the same each time.
func headerList(headers http.Header) []abi.HTTPHeader {
	var list []abi.HTTPHeader
	for name, values := range headers {
		for _, value := range values {
			list = append(list, abi.HTTPHeader{Name: name, Value: []byte(value)})
		}
	}
	sorted.By(list, func(a, b abi.HTTPHeader) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

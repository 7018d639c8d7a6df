package capability

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// httpStream is an exchange that a guest writes, reads, and waits for. A goroutine does the exchange.
type httpStream struct {
	exchange    *httpExchange
	descriptors *Descriptors
	// sent has the request's body, nil if it was whole, and arrived the response.
	sent, arrived *buffer
	// ended is set once the guest has ended the body.
	ended bool
	// held is set once the response counts as held for the guest.
	held bool

	mu  sync.Mutex
	err error
	// answered is set once there is a response's head.
	answered bool
}

// stream begins to send the request, and to receive the response.
func (x *httpExchange) stream(d *Descriptors, whole bool) error {
	x.finished = true
	s := &httpStream{exchange: x, descriptors: d, arrived: newBuffer()}
	if whole {
		if err := x.setWhole(); err != nil {
			return err
		}
	} else {
		s.sent = newBuffer()
		x.request.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(x.first), requestBody{s}), requestBody{s}}
	}
	x.streamed = s
	go s.run()
	return nil
}

// run does the exchange.
func (s *httpStream) run() {
	x := s.exchange
	defer close(x.done)
	x.roundTrip()
	err := x.err
	if err == nil {
		s.mu.Lock()
		s.answered = true
		s.mu.Unlock()
		err = s.receive(x.response)
	}
	if err != nil {
		s.fail(x.failed(err))
	} else {
		s.arrived.end(io.EOF)
	}
	s.descriptors.wake()
}

// fail ends the response with an error.
func (s *httpStream) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.arrived.end(syscall.EIO)
}

// failure returns the error of the exchange.
func (s *httpStream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// framing are the headers about where a body ends, which depend on the connection.
var framing = map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true}

// receive passes the response on, in the form of HTTP/1.1.
func (s *httpStream) receive(r *http.Response) error {
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %03d %s\r\n", r.StatusCode, http.StatusText(r.StatusCode))
	if err := r.Header.WriteSubset(&head, framing); err != nil {
		return err
	}
	length := r.ContentLength
	switch {
	case r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified:
		length = 0
	case length >= 0 && len(r.Trailer) == 0:
		fmt.Fprintf(&head, "Content-Length: %d\r\n", length)
	default:
		length = -1
		head.WriteString("Transfer-Encoding: chunked\r\n")
	}
	head.WriteString("\r\n")
	if err := s.pass(head.Bytes()); err != nil {
		return err
	}
	if length == 0 || s.exchange.request.Method == http.MethodHead {
		return nil
	}
	if err := s.passBody(r.Body, length); err != nil || length >= 0 {
		return err
	}
	end := bytes.NewBufferString("0\r\n")
	if err := r.Trailer.Write(end); err != nil {
		return err
	}
	end.WriteString("\r\n")
	return s.pass(end.Bytes())
}

// passBody passes a body on as it arrives: as it is if its length is known, else in chunks.
func (s *httpStream) passBody(body io.Reader, length int64) error {
	const size = len("8000\r\n") // the header of the largest chunk
	const largest = 32 << 10
	chunked, part := length < 0, int64(largest)
	if !chunked {
		part = min(length+1, largest)
	}
	buffer := make([]byte, size+int(part)+len("\r\n"))
	for {
		n, err := body.Read(buffer[size : len(buffer)-len("\r\n")])
		x := s.exchange
		if x.received += int64(n); x.received > MaxHTTPStream {
			return x.tooLarge(MaxHTTPStream)
		}
		part := buffer[size : size+n]
		if chunked && n > 0 {
			head := fmt.Appendf(nil, "%x\r\n", n)
			from := size - copy(buffer[size-len(head):], head)
			part = append(buffer[from:size+n], "\r\n"...)
		}
		if err := s.pass(part); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var errClosedExchange = errors.New("the exchange was closed")

// pass passes bytes on to the guest.
func (s *httpStream) pass(p []byte) error {
	for len(p) > 0 {
		space := s.arrived.awaitSpace()
		if space == nil {
			return errClosedExchange
		}
		n := copy(space, p)
		s.arrived.filled(n)
		p = p[n:]
		s.descriptors.wake()
	}
	return nil
}

// requestBody is the body that the guest writes.
type requestBody struct{ *httpStream }

func (b requestBody) Read(p []byte) (int, error) {
	b.sent.awaitData()
	n, err := b.sent.read(p)
	if err == wasi.ErrWouldWait { // the exchange was closed
		err = errClosedExchange
	}
	b.descriptors.wake()
	return n, err
}

func (b requestBody) Close() error {
	b.sent.close()
	b.descriptors.wake()
	return nil
}

// Read returns the bytes that have arrived.
func (s *httpStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	hold := s.answered && !s.held
	s.held = s.held || hold
	s.mu.Unlock()
	if x := s.exchange; hold {
		if err := x.hold(x.ofResponse()); err != nil {
			s.fail(err)
			x.cancel()
			return 0, syscall.EIO
		}
	}
	return s.arrived.read(p)
}

// Write sends a part of the body. A server that has answered already does not want it.
func (s *httpStream) Write(p []byte) (int, error) {
	switch {
	case s.sent == nil || s.ended:
		return 0, syscall.EPIPE
	case len(p) == 0:
		return 0, nil
	}
	n := s.sent.write(p)
	if n == 0 {
		return 0, wasi.ErrWouldWait
	}
	if s.exchange.sent += int64(n); s.exchange.sent > MaxHTTPStream {
		s.fail(Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("the request's body has more than %d bytes", int64(MaxHTTPStream))))
		s.exchange.cancel()
		return 0, syscall.EFBIG
	}
	return n, nil
}

// CloseWrite ends the request's body.
func (s *httpStream) CloseWrite() error {
	if s.sent != nil {
		s.sent.end(io.EOF)
	}
	s.ended = true
	return nil
}

// Ready reports whether a read, or a write, would not wait.
func (s *httpStream) Ready(write bool) bool {
	if write {
		return s.sent == nil || s.ended || s.sent.writable()
	}
	return s.arrived.readable()
}

func (s *httpStream) close() {
	s.arrived.close()
	if s.sent != nil {
		s.sent.close()
	}
}

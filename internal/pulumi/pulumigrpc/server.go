package pulumigrpc

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// Method serves a method of one service: it reads the request in, and fills the response out.
type Method = func(ctx context.Context, in, out pulumiwire.Message) error

// Stream serves a method that answers with several messages.
type Stream = func(ctx context.Context, in pulumiwire.Message, send func(pulumiwire.Message) error) error

// Server serves services at an address of this machine.
type Server struct {
	// Address is a host and port.
	Address string

	mux    *http.ServeMux
	server *http.Server
}

// maxStreams bounds the calls of one connection that wait at once. Each resource may be one.
const maxStreams = 1 << 20

// maxMessage is the size of the longest accepted message, in bytes, the same as in Pulumi's engine and SDKs.
const maxMessage = 400 << 20

// Listen opens a port of the loopback interface, 0 for a free one. As in Pulumi's protocol, each program on
// this machine can reach it.
func Listen(port int) (*Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s := &Server{Address: listener.Addr().String(), mux: http.NewServeMux()}
	s.server = &http.Server{Handler: s.mux, Protocols: &protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	go func() { _ = s.server.Serve(listener) }() // it ends when the server is closed
	return s, nil
}

// Close ends the services, and cancels the calls that run.
func (s *Server) Close() error { return s.server.Close() }

// Serve adds methods of a service. A method that is missing is not implemented.
func (s *Server) Serve(service string, methods map[string]Method) {
	for name, serve := range methods {
		d, path := method(service, name), pathOf(service, name)
		s.mux.Handle(path, connect.NewUnaryHandler(path, func(ctx context.Context, request *connect.Request[encoded]) (*connect.Response[encoded], error) {
			in, out := messageOf(d.Input()), messageOf(d.Output())
			if err := proto.Unmarshal(request.Msg.bytes, in.Reflect.Interface()); err != nil {
				return nil, unreadable(path, err)
			}
			if err := serve(ctx, in, out); err != nil {
				return nil, statusOf(path, err)
			}
			text, err := proto.Marshal(out.Reflect.Interface())
			if err != nil {
				return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("the response of %s cannot be written: %w", path, err))
			}
			return connect.NewResponse(&encoded{text}), nil
		}, connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage)))
	}
}

// ServeStream adds a method that answers with several messages.
func (s *Server) ServeStream(service, name string, serve Stream) {
	d, path := method(service, name), pathOf(service, name)
	s.mux.Handle(path, connect.NewServerStreamHandler(path, func(ctx context.Context, request *connect.Request[encoded], stream *connect.ServerStream[encoded]) error {
		in := messageOf(d.Input())
		if err := proto.Unmarshal(request.Msg.bytes, in.Reflect.Interface()); err != nil {
			return unreadable(path, err)
		}
		return statusOf(path, serve(ctx, in, func(out pulumiwire.Message) error {
			text, err := proto.Marshal(out.Reflect.Interface())
			if err != nil {
				return fmt.Errorf("the response of %s cannot be written: %w", path, err)
			}
			return stream.Send(&encoded{text})
		}))
	}, connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage)))
}

func unreadable(path string, err error) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("the request of %s cannot be read: %w", path, err))
}

// encoded is a message as it travels.
type encoded struct{ bytes []byte }

// codec leaves messages as they are: the services know which message it is. The details of errors are
// messages of connect's own.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(m any) ([]byte, error) {
	if e, ok := m.(*encoded); ok {
		return e.bytes, nil
	}
	own, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", m)
	}
	return proto.Marshal(own)
}

func (codec) Unmarshal(b []byte, m any) error {
	if e, ok := m.(*encoded); ok {
		e.bytes = bytes.Clone(b) // b is a buffer that connect uses again
		return nil
	}
	own, ok := m.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", m)
	}
	return proto.Unmarshal(b, own)
}

package pulumi

import (
	"context"
	"fmt"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// methods are the functions of a service of the engine, by the names of the protocol's methods. They read the request in, and
// fill the response out.
type methods map[string]func(ctx context.Context, in, out message) error

// service is a gRPC service that Pulumi's SDK dials. In a module it can be reached from the module
// alone, whose network it is.
type service struct {
	// address is a host and port.
	address string
	server  *grpc.Server
}

// listen starts a service. A method that it lacks is not implemented.
func listen(served methods) (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for calls of the provider to the engine: %w", err)
	}
	s := &service{
		address: listener.Addr().String(),
		server:  grpc.NewServer(grpc.UnknownServiceHandler(served.handle), grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32)),
	}
	go func() { _ = s.server.Serve(listener) }() // it ends when the service stops
	return s, nil
}

func (s *service) stop() { s.server.Stop() }

// handle serves a call of any method. Each has one request and one response.
func (served methods) handle(_ any, s grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(s)
	for method, serve := range served {
		if name != method {
			continue
		}
		in, out, err := messagesOf(method)
		if err != nil {
			return status.Error(codes.Unimplemented, err.Error())
		}
		if err := s.RecvMsg(in.Interface()); err != nil {
			return err
		}
		if err := serve(s.Context(), in, out); err != nil {
			return statusOf(err)
		}
		return s.SendMsg(out.Interface())
	}
	return status.Error(codes.Unimplemented, "Husk does not have "+name)
}

// messagesOf returns an empty request and response of a method with a name such as
// /pulumirpc.Engine/Log.
func messagesOf(method string) (in, out message, err error) {
	full := protoreflect.FullName(method[1:])
	for i, c := range full {
		if c == '/' {
			full = full[:i] + "." + full[i+1:]
		}
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	if err != nil {
		return in, out, err
	}
	described, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return in, out, fmt.Errorf("%s is not a method", full)
	}
	for _, m := range []struct {
		to   *message
		from protoreflect.MessageDescriptor
	}{{&in, described.Input()}, {&out, described.Output()}} {
		t, err := protoregistry.GlobalTypes.FindMessageByName(m.from.FullName())
		if err != nil {
			return in, out, err
		}
		m.to.Message = t.New()
	}
	return in, out, nil
}

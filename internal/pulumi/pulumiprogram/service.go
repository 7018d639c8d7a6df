package pulumiprogram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// methods are the functions of the services, by the names of the protocol's methods. They read the request in, and fill the
// response out.
type methods map[string]func(ctx context.Context, in, out pulumiwire.Message) error

// service serves the monitor and the engine to one program.
type service struct {
	// address is the address that the program dials.
	address string
	server  *http.Server
	dir     string // of the socket, empty for none

	mu sync.Mutex
	// calls counts the operations that have not ended. ended is closed when there are none, and none can begin.
	calls   int
	stopped bool
	ended   chan struct{}
}

// maxStreams bounds the calls of a program that wait at once. Each registration is one until its resource
// is there, so a large program has thousands.
const maxStreams = 1 << 20

// maxMessage is the size of the longest accepted message, in bytes, the same as in Pulumi's engine and SDKs.
const maxMessage = 400 << 20

// uncompressed leaves messages as they are: to compress them for a program on the same machine takes both
// longer than all else that a call does.
var uncompressed = connect.WithCompressMinBytes(math.MaxInt)

// listen starts the services. Registrations may hold secrets, so the address is a socket that only this user can open, where
// there are such sockets.
//
// Operations are the calls that a deployment must wait for. They are refused when it drains; notices are not. private is false
// for programs that can only dial a port, see [dialsSockets].
func listen(ctx context.Context, operations, notices methods, private bool) (*service, error) {
	s := &service{ended: make(chan struct{})}
	listener, err := s.bind(private)
	if err != nil {
		return nil, fmt.Errorf("listening for calls of the program: %w", err)
	}
	mux := http.NewServeMux()
	for _, m := range methodsOf("pulumirpc.ResourceMonitor", "pulumirpc.Engine") {
		path := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
		serve, isOperation := operations[path]
		if !isOperation {
			serve = notices[path]
		}
		if serve == nil {
			serve = func(context.Context, pulumiwire.Message, pulumiwire.Message) error {
				return unserved(path)
			}
		}
		mux.Handle(path, connect.NewUnaryHandler(path, func(_ context.Context, request *connect.Request[encoded]) (*connect.Response[encoded], error) {
			if isOperation {
				if !s.begin() {
					return nil, errEnding
				}
				defer s.end()
			}
			in, out := messageOf(m.Input()), messageOf(m.Output())
			if err := proto.Unmarshal(request.Msg.bytes, in.Reflect.Interface()); err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("the request of %s cannot be read: %w", path, err))
			}
			// A program that goes away cancels its calls, but not the steps that it began.
			if err := serve(ctx, in, out); err != nil {
				return nil, statusOf(err)
			}
			text, err := proto.Marshal(out.Reflect.Interface())
			if err != nil {
				return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("the response of %s cannot be written: %w", path, err))
			}
			return connect.NewResponse(&encoded{text}), nil
		}, connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage), uncompressed))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // what a newer SDK calls
		path := r.URL.Path
		connect.NewUnaryHandler(path, func(context.Context, *connect.Request[encoded]) (*connect.Response[encoded], error) {
			return nil, statusOf(unserved(path))
		}, connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage)).ServeHTTP(w, r)
	})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{Handler: mux, Protocols: &protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	go func() { _ = s.server.Serve(listener) }() // it ends when the service stops
	return s, nil
}

// unserved is the error for a method that husk does not have.
func unserved(path string) error {
	return abi.NewError(abi.ErrorKindUnimplemented, fmt.Sprintf("husk does not serve %s: it has version %s of Pulumi's protocol, "+
		"and https://github.com/husk-dev/husk/blob/main/docs/pulumi.md lists what it serves", path, program.PulumiVersion))
}

// dialsSockets reports whether programs in a runtime can open sockets. Language hosts want ports. In Go, the gRPC of old SDKs dials sockets,
// too, by the proxy that the environment names.
func dialsSockets(runtime string) bool {
	return isOwn(runtime) && (runtime != "go" || os.Getenv("HTTPS_PROXY") == "" && os.Getenv("https_proxy") == "")
}

// maxSocket is the longest path of a socket in macOS, in bytes. Linux has 107.
const maxSocket = 103

func (s *service) bind(private bool) (net.Listener, error) {
	if runtime.GOOS == "windows" || !private {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			s.address = listener.Addr().String()
		}
		return listener, err
	}
	const monitor = "husk-program-0123456789/monitor"
	within := os.TempDir()
	if len(filepath.Join(within, monitor)) > maxSocket {
		within = "/tmp"
	}
	dir, err := os.MkdirTemp(within, "husk-program-") // for this user alone
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, filepath.Base(monitor))
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.dir, s.address = dir, "unix://"+socket
	return listener, nil
}

func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.calls++
	}
	return !s.stopped
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls--; s.stopped && s.calls == 0 {
		close(s.ended)
	}
}

// drain refuses new operations, and waits for the ones that have begun.
func (s *service) drain() {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		if s.calls == 0 {
			close(s.ended)
		}
	}
	s.mu.Unlock()
	<-s.ended
}

// stop ends the services. Calls that have begun go on, see drain.
func (s *service) stop() {
	_ = s.server.Close() // its connections are the program's
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a file that stays is empty
	}
}

// encoded is a message as it travels.
type encoded struct{ bytes []byte }

// codec leaves messages as they are: the services know which message it is.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(m any) ([]byte, error) { return m.(*encoded).bytes, nil }

func (codec) Unmarshal(b []byte, m any) error {
	m.(*encoded).bytes = bytes.Clone(b) // b is a buffer that connect uses again
	return nil
}

// errEnding is the error of calls after the deployment has failed or was stopped. SDKs end the program without a word when they
// see its code, because the engine has said why.
var errEnding = connect.NewError(connect.CodeUnavailable, errors.New("the deployment is ending"))

func statusOf(err error) error {
	if status, ok := errors.AsType[*connect.Error](err); ok {
		return status
	}
	code := connect.CodeUnknown
	switch abi.AsError(err).Kind {
	case abi.ErrorKindInvalidArgument:
		code = connect.CodeInvalidArgument
	case abi.ErrorKindNotFound:
		code = connect.CodeNotFound
	case abi.ErrorKindUnimplemented:
		code = connect.CodeUnimplemented
	case abi.ErrorKindDenied:
		code = connect.CodePermissionDenied
	}
	return connect.NewError(code, err)
}

// callbacks calls the functions of a program, which serves them at addresses of its own.
type callbacks struct {
	mu      sync.Mutex
	clients map[string]*connect.Client[encoded, encoded]
	// transport has the connections.
	transport *http.Transport
	// awaited ends when calls are not waited for any more, with the reason as its cause.
	awaited context.Context
	end     context.CancelCauseFunc
}

func newCallbacks() *callbacks {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	c := &callbacks{clients: map[string]*connect.Client[encoded, encoded]{}, transport: &http.Transport{Protocols: &protocols}}
	c.awaited, c.end = context.WithCancelCause(context.Background())
	return c
}

func (c *callbacks) close() {
	c.end(nil)
	c.transport.CloseIdleConnections()
}

// giveUp has calls that run, and later ones, fail. The deployment is to end, and has waited for them.
func (c *callbacks) giveUp(waited time.Duration) {
	c.end(fmt.Errorf("the deployment is ending, and a function of the program has not returned within %s", waited))
}

// function is one of the program, which it serves under a token.
type function struct{ target, token string }

// functionOf reads where a function is served, which must be on this machine.
func functionOf(in pulumiwire.Message) (function, error) {
	c := function{in.Text("target"), in.Text("token")}
	if err := checkHere(c.target); err != nil {
		return c, abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the callback's target %q %v", c.target, err))
	}
	if c.token == "" {
		return c, abi.NewError(abi.ErrorKindInvalidArgument, "the callback's token is empty")
	}
	return c, nil
}

// checkHere returns what is wrong with an address that is not one of this machine.
func checkHere(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("is not a host and port")
	}
	if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return errors.New("is not on this machine")
	}
	return nil
}

// errProgramEnded is why a function whose address nobody serves any more cannot be called.
var errProgramEnded = errors.New("the program has ended, and cannot be asked any more")

// call calls a function of the program.
func (c *callbacks) call(ctx context.Context, f function, in, out pulumiwire.Message) error {
	c.mu.Lock()
	client := c.clients[f.target]
	if client == nil {
		client = connect.NewClient[encoded, encoded](&http.Client{Transport: c.transport},
			"http://"+f.target+"/pulumirpc.Callbacks/Invoke", connect.WithGRPC(), connect.WithCodec(codec{}))
		c.clients[f.target] = client
	}
	c.mu.Unlock()
	inner, err := proto.Marshal(in.Reflect.Interface())
	if err != nil {
		return err
	}
	request, response := newMessage("pulumirpc.CallbackInvokeRequest"), newMessage("pulumirpc.CallbackInvokeResponse")
	request.Set("token", f.token)
	request.Set("request", inner)
	text, err := proto.Marshal(request.Reflect.Interface())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.awaited, cancel)()
	answer, err := client.CallUnary(ctx, connect.NewRequest(&encoded{text}))
	if err != nil {
		if given := context.Cause(c.awaited); given != nil {
			return given
		}
		if status, ok := errors.AsType[*connect.Error](err); ok {
			if status.Code() == connect.CodeUnavailable && !connect.IsWireError(err) {
				return errProgramEnded
			}
			return errors.New(status.Message())
		}
		return err
	}
	if err = proto.Unmarshal(answer.Msg.bytes, response.Reflect.Interface()); err == nil {
		err = proto.Unmarshal(response.Bytes("response"), out.Reflect.Interface())
	}
	if err != nil {
		return fmt.Errorf("the response of the program's callback cannot be read: %w", err)
	}
	return nil
}

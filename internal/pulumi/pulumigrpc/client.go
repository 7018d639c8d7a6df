package pulumigrpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// Client calls the services at an address. It is safe for concurrent use.
type Client struct {
	address   string
	transport *http.Transport

	mu      sync.Mutex
	clients map[string]*connect.Client[encoded, encoded]
}

// Dial returns a client for a host and port. It connects with the first call.
func Dial(address string) *Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &Client{address: address, transport: &http.Transport{Protocols: &protocols}, clients: map[string]*connect.Client[encoded, encoded]{}}
}

// Close ends the connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request returns an empty request of a method.
func Request(service, name string) pulumiwire.Message {
	return messageOf(method(service, name).Input())
}

// Call calls a method. The server's errors become errors of [abi].
func (c *Client) Call(ctx context.Context, service, name string, in pulumiwire.Message) (out pulumiwire.Message, err error) {
	out = messageOf(method(service, name).Output())
	request, err := proto.Marshal(in.Reflect.Interface())
	if err != nil {
		return out, fmt.Errorf("the request of %s cannot be written: %w", name, err)
	}
	answer, err := c.client(service, name).CallUnary(ctx, connect.NewRequest(&encoded{request}))
	if err != nil {
		return out, errorOf(err)
	}
	return out, readAnswer(name, answer.Msg, out)
}

// Stream calls a method that answers with several messages, and has each of them taken.
func (c *Client) Stream(ctx context.Context, service, name string, in pulumiwire.Message, take func(pulumiwire.Message) error) error {
	request, err := proto.Marshal(in.Reflect.Interface())
	if err != nil {
		return fmt.Errorf("the request of %s cannot be written: %w", name, err)
	}
	stream, err := c.client(service, name).CallServerStream(ctx, connect.NewRequest(&encoded{request}))
	if err != nil {
		return errorOf(err)
	}
	for stream.Receive() {
		out := messageOf(method(service, name).Output())
		if err := readAnswer(name, stream.Msg(), out); err != nil {
			return errors.Join(err, stream.Close())
		}
		if err := take(out); err != nil {
			return errors.Join(err, stream.Close())
		}
	}
	if err := stream.Err(); err != nil {
		return errorOf(err)
	}
	return stream.Close()
}

func readAnswer(name string, answer *encoded, out pulumiwire.Message) error {
	if err := proto.Unmarshal(answer.bytes, out.Reflect.Interface()); err != nil {
		return abi.NewError(abi.ErrorKindCrashed, fmt.Sprintf("the answer to %s cannot be read: %v", name, err)) // the server has done what it did
	}
	return nil
}

func (c *Client) client(service, name string) *connect.Client[encoded, encoded] {
	path := pathOf(service, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.clients[path]
	if client == nil {
		client = connect.NewClient[encoded, encoded](&http.Client{Transport: c.transport}, "http://"+c.address+path, connect.WithGRPC(), connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxMessage))
		c.clients[path] = client
	}
	return client
}

package pulumigrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
)

// Events sends events of the engine to a service of Pulumi's SDKs.
type Events struct {
	transport *http.Transport
	stream    *connect.ClientStreamForClient[encoded, encoded]
}

// SendEvents begins to send events to the service at an address.
func SendEvents(address string) (*Events, error) {
	conn, err := net.Dial("tcp", address) // the stream would say so at its end
	if err != nil {
		return nil, fmt.Errorf("the service for events: %w", err)
	}
	_ = conn.Close() // nothing was sent
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	e := &Events{transport: &http.Transport{Protocols: &protocols}}
	client := connect.NewClient[encoded, encoded](&http.Client{Transport: e.transport}, "http://"+address+pathOf("pulumirpc.Events", "StreamEvents"),
		connect.WithGRPC(), connect.WithCodec(codec{}))
	e.stream = client.CallClientStream(context.Background())
	return e, nil
}

// Write sends one event, which is JSON.
func (e *Events) Write(event []byte) (int, error) {
	const text = 1 // the field of an EventRequest
	message := protowire.AppendBytes(protowire.AppendTag(nil, text, protowire.BytesType), event)
	if err := e.stream.Send(&encoded{message}); err != nil {
		return 0, err
	}
	return len(event), nil
}

// Close waits until the service has all events.
func (e *Events) Close() error {
	_, err := e.stream.CloseAndReceive()
	e.transport.CloseIdleConnections()
	if status, ok := errors.AsType[*connect.Error](err); ok {
		return errors.New(status.Message())
	}
	return err
}

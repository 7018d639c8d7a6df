package pulumiprogram

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
)

// framed returns a message as gRPC has it on the wire.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// field returns a field of a message.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// nested returns a value of Pulumi's in lists of that depth.
func nested(depth int) []byte {
	value := []byte{0x08, 0} // null
	for range depth {
		value = field(6, field(1, value))
	}
	return field(1, append(field(1, []byte("deep")), field(2, value)...))
}

// Whatever a program sends, it gets an error that says what is wrong, and the next call is served.
func TestRequestsThatMakeNoSense(t *testing.T) {
	m := &monitor{
		run: abi.RunContext{Project: "shop", Stack: "dev"}, engine: &asked{}, functions: newCallbacks(), report: func(engine.Diagnostic) {},
		version:  func(_, wanted string) string { return wanted },
		released: make(chan struct{}), done: make(chan struct{}), broken: make(chan struct{}),
	}
	s, err := listen(t.Context(), m.operations(), m.notices(), true)
	require.NoError(t, err)
	defer s.stop()
	network, address := "tcp", s.address
	if socket, ok := strings.CutPrefix(s.address, "unix://"); ok {
		network, address = "unix", socket
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	defer client.CloseIdleConnections()
	// send sends a body, and returns the status and message of the answer.
	send := func(method, contentType string, body []byte) (status, message string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://husk/pulumirpc."+method, bytes.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("TE", "trailers")
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		if response.StatusCode != http.StatusOK {
			return response.Status, ""
		}
		trailer := response.Trailer
		if response.Header.Get("Grpc-Status") != "" {
			trailer = response.Header
		}
		message, err = url.PathUnescape(trailer.Get("Grpc-Message"))
		require.NoError(t, err)
		return trailer.Get("Grpc-Status"), message
	}
	const grpc = "application/grpc"
	good := framed(append(field(1, []byte("shop:index:Thing")), field(2, []byte("thing"))...))
	thing := append(field(1, []byte("shop:index:Thing")), field(2, []byte("thing"))...)
	with := func(number protowire.Number, value []byte) []byte {
		return framed(append(bytes.Clone(thing), field(number, value)...))
	}
	for name, c := range map[string]struct {
		method, contentType string
		body                []byte
		status, message     string
	}{
		"bytes that are no message": {"ResourceMonitor/RegisterResource", grpc, framed([]byte("\xff\xff\xff garbage")), "3", "the request of /pulumirpc.ResourceMonitor/RegisterResource cannot be read"},
		"a text that is not UTF-8":  {"ResourceMonitor/RegisterResource", grpc, framed(field(1, []byte("\xff\xfe"))), "3", "cannot be read"},
		"properties that are none":  {"ResourceMonitor/RegisterResource", grpc, with(5, []byte("\xff\xff")), "3", `RegisterResource of shop:index:Thing "thing": object: the field object cannot be read`},
		"properties too deep":       {"ResourceMonitor/RegisterResource", grpc, with(5, nested(6000)), "3", `RegisterResource of shop:index:Thing "thing": object: the field object cannot be read`},
		"outputs that are none":     {"ResourceMonitor/RegisterResourceOutputs", grpc, framed(append(field(1, []byte(someURN)), field(2, []byte("\xff"))...)), "3", "RegisterResourceOutputs of " + string(someURN)},
		"a frame that is cut off":   {"ResourceMonitor/RegisterResource", grpc, good[:len(good)-3], "13", "promised 25 bytes in enveloped message, got 22 bytes"},
		"no frame":                  {"ResourceMonitor/RegisterResource", grpc, nil, "12", "unary request has zero messages"},
		"a frame that is too long":  {"ResourceMonitor/RegisterResource", grpc, append([]byte{0, 0xff, 0xff, 0xff, 0xff}, "text"...), "8", "larger than configured max 419430400"},
		"a compression of nobody":   {"ResourceMonitor/RegisterResource", grpc, append([]byte{1}, good[1:]...), "13", "compress"},
		"a callback of nowhere":     {"ResourceMonitor/RegisterStackTransform", grpc, framed(append(field(1, []byte("nowhere")), field(2, []byte("token"))...)), "3", `the callback's target "nowhere" is not a host and port`},
		"a callback elsewhere":      {"ResourceMonitor/RegisterStackTransform", grpc, framed(append(field(1, []byte("192.0.2.1:80")), field(2, []byte("token"))...)), "3", "is not on this machine"},
		"a severity of nobody":      {"Engine/Log", grpc, framed([]byte{0x08, 99}), "3", "Log: there is no severity 99"},
		"a method of nobody":        {"ResourceMonitor/Nothing", grpc, good, "12", "husk does not serve /pulumirpc.ResourceMonitor/Nothing: it has version 3.276.0 of Pulumi's protocol, and https://"},
		"a web page":                {"ResourceMonitor/RegisterResource", "text/html", []byte("<html>"), "415 Unsupported Media Type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, message := send(c.method, c.contentType, c.body)
			require.Equal(t, c.status, status, message)
			require.Contains(t, message, c.message)
			status, message = send("ResourceMonitor/RegisterResource", grpc, good)
			require.Equal(t, "0", status, message)
		})
	}
}

// A program may end before all its functions were called.
func TestAFunctionOfAProgramThatHasEnded(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	c := newCallbacks()
	defer c.close()
	m := &monitor{functions: c}
	err = m.transform(function{gone.Addr().String(), "token"})(t.Context(), callback.Identity{}, &callback.Declaration{})
	require.EqualError(t, err, "the program has ended, and cannot be asked any more")
}

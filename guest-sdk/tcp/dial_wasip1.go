package tcp

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// DialContext connects to a host and port. The network is tcp.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return fail(net.UnknownNetworkError(network))
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return fail(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return fail(errors.New("the port is not a number: " + text))
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	request := abi.TCPConnectRequest{Host: host, Port: uint16(port)}
	if deadline, ok := ctx.Deadline(); ok {
		// Rounded up, so that what is too late is not what has no limit.
		request.TimeoutMs = uint64(max(0, time.Until(deadline).Milliseconds()) + 1)
	}
	tcp := bindings.TCP()
	handle, err := tcp.Connect(ctx, request)
	if err != nil {
		return fail(err)
	}
	return &conn{host: tcp, handle: handle, remote: addr(address)}, nil
}

// LookupHost returns the host itself, whose name the host of the module looks up.
func LookupHost(_ context.Context, host string) ([]string, error) { return []string{host}, nil }

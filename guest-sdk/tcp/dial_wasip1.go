package tcp

import (
	"context"
	"errors"
	"net"
	"os"
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
		// Rounded up, because zero would mean no limit.
		request.TimeoutMs = uint64(max(0, time.Until(deadline).Milliseconds()) + 1)
	}
	tcp := bindings.TCP()
	handle, err := tcp.Begin(ctx, request)
	if err != nil {
		return fail(err)
	}
	c, err := open(ctx, tcp, handle)
	if err != nil {
		return fail(err)
	}
	return &conn{Conn: c, host: tcp, handle: handle, remote: addr(address)}, nil
}

// open waits until the host has opened a connection, while other goroutines run.
func open(ctx context.Context, host abi.TCP, handle abi.TCPConnection) (net.Conn, error) {
	// A connection of the host is a file for Go, which waits for files in poll_oneoff.
	file := os.NewFile(uintptr(handle), "tcp")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		host.Close(ctx, handle)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetWriteDeadline(past) })
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err == nil {
		err = raw.Write(func(uintptr) bool { return !isOpening(host.Status(ctx, handle)) })
	}
	if !stop() && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = host.Status(ctx, handle)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// isOpening reports whether the host is still at it, and the other side has not failed.
func isOpening(err error) bool {
	e := abi.AsError(err)
	return e != nil && e.Kind == abi.ErrorKindUnavailable && e.Origin == abi.ErrorOriginHost
}

// past is a deadline that ends what waits.
var past = time.Unix(1, 0)

// LookupHost returns the host itself, whose name the host of the module looks up.
func LookupHost(_ context.Context, host string) ([]string, error) { return []string{host}, nil }

package tcp

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/husk-dev/husk/abi"
)

// conn is a connection of the host, with its address and its errors.
type conn struct {
	net.Conn
	host   abi.TCP
	handle abi.TCPConnection
	remote addr
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// told returns an error with the host's description, which the system's number lacks.
func (c *conn) told(err error) error {
	failed, ok := errors.AsType[*net.OpError](err)
	var number syscall.Errno
	if !ok || !errors.As(err, &number) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	told := *failed
	told.Addr = c.remote
	switch status := c.host.Status(context.Background(), c.handle); {
	case status != nil:
		told.Err = status
	case number == syscall.ECANCELED:
		told.Err = &abi.Error{Kind: abi.ErrorKindCancelled, Origin: abi.ErrorOriginHost, Message: "the call was cancelled"}
	}
	return &told
}

// Read reads what has arrived, and waits for something.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = c.told(err)
	}
	return n, err
}

// Write writes all of p.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		err = c.told(err)
	}
	return n, err
}

// CloseWrite ends the outgoing stream.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.host.CloseWrite(context.Background(), c.handle)
}

// LocalAddr is not known in a module.
func (*conn) LocalAddr() net.Addr { return addr("") }

func (c *conn) RemoteAddr() net.Addr { return c.remote }

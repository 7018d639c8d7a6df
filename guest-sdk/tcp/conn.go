package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
)

const (
	// firstPause and longestPause are how long a goroutine sleeps before it asks again
	// whether the connection can go on. A module has one thread: while it slept in the
	// host, no deadline of a connection could be changed, and no other goroutine would
	// run, the one among them that writes what the answer is waited for.
	firstPause   = 20 * time.Microsecond
	longestPause = 5 * time.Millisecond
	// longestWrite is how much one call of the host is passed, in bytes.
	longestWrite = 64 << 10
)

// conn is a connection of the host. Like others of package net it is safe for concurrent use.
type conn struct {
	host   abi.TCP
	handle abi.TCPConnection
	remote addr

	// writing is held by the one who writes, so that writes do not mix.
	writing sync.Mutex

	mu                    sync.Mutex
	closed                bool
	readUntil, writeUntil time.Time
}

var _ net.Conn = (*conn)(nil)

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// fail makes an error what package net would answer.
func (c *conn) fail(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Addr: c.remote, Err: err}
}

// ready returns an error once the connection was closed, or the deadline has passed.
func (c *conn) ready(until *time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case !until.IsZero() && !time.Now().Before(*until):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Read reads what has arrived, and waits for something.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err := c.ready(&c.readUntil); err != nil {
			return 0, c.fail("read", err)
		}
		data, err := c.host.Read(context.Background(), c.handle, uint32(min(len(p), longestWrite)), false)
		switch {
		case err == nil && len(data) == 0:
			return 0, io.EOF
		case err == nil:
			return copy(p, data), nil
		case !nothingYet(err):
			return 0, c.fail("read", err)
		}
		time.Sleep(pause)
	}
}

// nothingYet reports whether the host has no data, and the other side has not failed.
func nothingYet(err error) bool {
	e := abi.AsError(err)
	return e.Kind == abi.ErrorKindUnavailable && e.Origin == abi.ErrorOriginHost
}

// Write writes all of p.
func (c *conn) Write(p []byte) (written int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	pause := firstPause
	for written < len(p) {
		if err := c.ready(&c.writeUntil); err != nil {
			return written, c.fail("write", err)
		}
		part := p[written:min(len(p), written+longestWrite)]
		n, err := c.host.Write(context.Background(), c.handle, part)
		written += int(n)
		if err != nil {
			return written, c.fail("write", err)
		}
		if int(n) == len(part) {
			pause = firstPause
			continue
		}
		time.Sleep(pause) // others may read what the other side has to say before it reads on
		pause = min(2*pause, longestPause)
	}
	return written, nil
}

// CloseWrite ends the outgoing stream.
func (c *conn) CloseWrite() error {
	return c.fail("close", c.host.CloseWrite(context.Background(), c.handle))
}

// Close closes the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.closed = true
	c.host.Close(context.Background(), c.handle)
	return nil
}

// LocalAddr is not known in a module.
func (*conn) LocalAddr() net.Addr { return addr("") }

func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error { return c.setDeadline(t, &c.readUntil, &c.writeUntil) }

func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, &c.readUntil) }

func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, &c.writeUntil) }

func (c *conn) setDeadline(t time.Time, which ...*time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	for _, until := range which {
		*until = t
	}
	return nil
}

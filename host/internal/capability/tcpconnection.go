package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/husk-dev/husk/host/internal/wasi"
)

const (
	// connectionBytes is the least memory that the host holds for a connection, in bytes.
	connectionBytes = bufferSize + 32<<10
	// tcpWriteWait is how long a guest of version 0.1 waits in a write for the other side to take something.
	tcpWriteWait = 10 * time.Millisecond
)

// tcpConnection is a connection, or the lookup of addresses. A goroutine of its own opens it, and then reads,
// so that the guest can ask what has arrived without waiting for it.
type tcpConnection struct {
	// doing names the operation that opens it, and target its address.
	doing, target string
	port          uint16
	// lookup marks what only looks up addresses.
	lookup      bool
	descriptors *Descriptors
	ledger      Ledger
	arrived     *buffer
	cancel      context.CancelFunc
	opening     context.Context
	sent        int64

	// onEnd is called once, for the guest, after a lookup has ended.
	onEnd func()

	mu sync.Mutex
	// addresses are the results of a lookup.
	addresses []netip.Addr
	// conn is nil until there is one, and err the reason why there is none.
	conn   net.Conn
	err    error
	opened bool
	closed bool
	// full is set while a write would wait.
	full bool
}

func newTCPConnection(doing, target string, d *Descriptors, l Ledger) *tcpConnection {
	c := &tcpConnection{doing: doing, target: target, descriptors: d, ledger: l, arrived: newBuffer()}
	c.opening, c.cancel = context.WithCancel(context.Background())
	return c
}

// await waits until a condition no longer holds, and reports whether the context has not ended before.
func (c *tcpConnection) await(ctx context.Context, while func() bool) bool {
	for while() {
		select {
		case <-c.descriptors.Changed():
		case <-ctx.Done():
			return !while()
		}
	}
	return true
}

// run opens the connection, and reads.
func (c *tcpConnection) run(timeout time.Duration, dial func(context.Context) (net.Conn, error)) {
	limited, cancel := context.WithTimeout(c.opening, timeout)
	defer cancel()
	conn, err := dial(limited)
	if err != nil && limited.Err() != nil {
		err = errors.New("it took longer than " + timeout.String())
	}
	if !c.settle(conn, err) {
		return
	}
	c.receive(conn)
	c.descriptors.wake()
}

// settle ends the opening. It reports whether there is something to read.
func (c *tcpConnection) settle(conn net.Conn, err error) bool {
	if err != nil {
		c.arrived.end(err)
		err = &openError{c.doing, err}
	}
	c.mu.Lock()
	if c.closed && conn != nil {
		conn.Close()
		conn = nil
	}
	c.conn, c.err, c.opened = conn, err, true
	c.mu.Unlock()
	c.descriptors.wake()
	return conn != nil
}

// openError is why a connection was not opened.
type openError struct {
	doing string
	err   error
}

func (e *openError) Error() string { return e.doing + ": " + e.err.Error() }

func (e *openError) Unwrap() error { return e.err }

func (c *tcpConnection) receive(conn net.Conn) {
	var received int64
	for {
		space := c.arrived.awaitSpace()
		if space == nil {
			return
		}
		n, err := conn.Read(space)
		c.arrived.filled(n)
		if received += int64(n); received > MaxTCPStream {
			err = fmt.Errorf("more than %d bytes have arrived", int64(MaxTCPStream))
		}
		if err != nil {
			c.arrived.end(err)
			return
		}
		c.descriptors.wake()
	}
}

// resolve looks addresses up, which the guest then reads.
func (c *tcpConnection) resolve(lookup func(context.Context) ([]netip.Addr, error)) {
	limited, cancel := context.WithTimeout(c.opening, DefaultTCPTimeout)
	defer cancel()
	addresses, err := lookup(limited)
	var lines []byte
	for i := range addresses {
		addresses[i] = addresses[i].Unmap().WithZone("")
		lines = append(append(lines, addresses[i].String()...), '\n')
	}
	c.mu.Lock()
	c.addresses = addresses
	c.mu.Unlock()
	c.settle(nil, err)
	c.arrived.write(lines)
	c.arrived.end(io.EOF)
	c.descriptors.wake()
}

func (c *tcpConnection) isOpening() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.opened
}

// failure returns why there is no connection, or why nothing can be read any more.
func (c *tcpConnection) failure() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.arrived.mu.Lock()
	defer c.arrived.mu.Unlock()
	if c.arrived.err == nil || c.arrived.err == io.EOF {
		return nil
	}
	return &openError{"reading from " + c.target, c.arrived.err}
}

// Read returns the bytes that have arrived.
func (c *tcpConnection) Read(p []byte) (int, error) {
	if c.lookup && c.onEnd != nil && !c.isOpening() {
		c.onEnd()
		c.onEnd = nil
	}
	return c.arrived.read(p)
}

// Write sends what the system takes at once.
func (c *tcpConnection) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, c.err
	case c.full || !c.opened:
		return 0, wasi.ErrWouldWait
	case c.conn == nil:
		return 0, syscall.EPIPE
	}
	n, err := writeNow(c.conn, p)
	if c.sent += int64(n); c.sent > MaxTCPStream {
		return 0, fmt.Errorf("more than %d bytes were sent", int64(MaxTCPStream))
	}
	if n == 0 && err == nil && len(p) > 0 {
		c.full = true
		go c.drain(c.conn)
		err = wasi.ErrWouldWait
	}
	return n, err
}

// drain waits until the system takes more.
func (c *tcpConnection) drain(conn net.Conn) {
	awaitWritable(conn)
	c.mu.Lock()
	c.full = false
	c.mu.Unlock()
	c.descriptors.wake()
}

// Ready reports whether a read, or a write, would not wait.
func (c *tcpConnection) Ready(write bool) bool {
	if !write {
		return c.arrived.readable()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened && !c.full
}

// CloseWrite ends the outgoing stream.
func (c *tcpConnection) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if half, ok := c.conn.(*net.TCPConn); ok {
		return half.CloseWrite()
	}
	return c.err
}

func (c *tcpConnection) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return remoteFailure(doing + " " + c.target + ": " + err.Error())
}

func (c *tcpConnection) close() {
	c.cancel()
	c.arrived.close()
	c.mu.Lock()
	c.closed = true
	if c.conn != nil {
		c.conn.Close()
	}
	c.mu.Unlock()
	c.ledger.Abandon(1, connectionBytes)
}

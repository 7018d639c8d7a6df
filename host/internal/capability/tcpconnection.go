package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/husk-dev/husk/abi"
)

const (
	// tcpPart is how much is read from a connection at once, in bytes. Two such parts
	// are held for a guest that does not read.
	tcpPart = 32 << 10
	// connectionBytes is what the host holds for a connection at the least, in bytes.
	connectionBytes = 3 * tcpPart
	// tcpWriteWait is how long a write waits for the other side to take something. The
	// guest's goroutines wait meanwhile, the one among them that reads.
	tcpWriteWait = 10 * time.Millisecond
)

// tcpConnection is an open connection. A goroutine of its own reads, so that the guest
// can ask what has arrived without waiting for it.
type tcpConnection struct {
	target string
	conn   net.Conn
	ledger Ledger

	// arrived has what was read; it is closed at the end, when ended is set.
	arrived chan []byte
	ended   error
	// rest is what of the last part the guest has not read yet.
	rest []byte
	sent int64

	abandoned chan struct{}
}

func newTCPConnection(target string, conn net.Conn, l Ledger) *tcpConnection {
	c := &tcpConnection{target: target, conn: conn, ledger: l, arrived: make(chan []byte), abandoned: make(chan struct{})}
	go c.receive()
	return c
}

func (c *tcpConnection) receive() {
	defer close(c.arrived)
	var received int64
	for {
		part := make([]byte, tcpPart)
		n, err := c.conn.Read(part)
		if received += int64(n); received > MaxTCPStream {
			c.ended = fmt.Errorf("more than %d bytes have arrived", int64(MaxTCPStream))
			return
		}
		if n > 0 {
			select {
			case c.arrived <- part[:n]:
			case <-c.abandoned:
				return
			}
		}
		if err != nil {
			c.ended = err
			return
		}
	}
}

func (c *tcpConnection) read(ctx context.Context, most uint32, wait bool) ([]byte, error) {
	if len(c.rest) == 0 {
		part, open, err := c.next(ctx, wait)
		switch {
		case err != nil:
			return nil, err
		case !open && errors.Is(c.ended, io.EOF):
			return nil, nil
		case !open:
			return nil, c.failed("reading from", c.ended)
		}
		c.rest = part
	}
	n := min(len(c.rest), int(max(1, min(most, MaxTCPChunk))))
	part := c.rest[:n:n]
	c.rest = c.rest[n:]
	return part, nil
}

// next takes the next part that has arrived; open is false after the last.
func (c *tcpConnection) next(ctx context.Context, wait bool) (part []byte, open bool, err error) {
	select {
	case part, open = <-c.arrived:
		return part, open, nil
	default:
	}
	if !wait {
		return nil, false, Failure(abi.ErrorKindUnavailable, "nothing has arrived from "+c.target+" yet")
	}
	select {
	case part, open = <-c.arrived:
		return part, open, nil
	case <-ctx.Done():
		return nil, false, Failure(abi.ErrorKindCancelled, "reading from "+c.target+": the call was cancelled")
	}
}

func (c *tcpConnection) write(ctx context.Context, data []byte) (uint32, error) {
	if ctx.Err() != nil {
		return 0, Failure(abi.ErrorKindCancelled, "writing to "+c.target+": the call was cancelled")
	}
	data = data[:min(len(data), MaxTCPChunk)]
	if err := c.conn.SetWriteDeadline(time.Now().Add(tcpWriteWait)); err != nil {
		return 0, c.failed("writing to", err)
	}
	n, err := c.conn.Write(data)
	if c.sent += int64(n); c.sent > MaxTCPStream {
		return 0, c.failed("writing to", fmt.Errorf("more than %d bytes were sent", int64(MaxTCPStream)))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // the guest tries again with the rest
	}
	return uint32(n), c.failed("writing to", err)
}

func (c *tcpConnection) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return remoteFailure(doing + " " + c.target + ": " + err.Error())
}

func (c *tcpConnection) close() {
	close(c.abandoned)
	c.conn.Close()
	c.ledger.Abandon(1, connectionBytes)
}

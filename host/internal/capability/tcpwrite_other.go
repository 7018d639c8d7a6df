//go:build !unix

package capability

import (
	"errors"
	"net"
	"os"
	"time"
)

// writeNow sends what the system takes soon, which may be nothing.
func writeNow(conn net.Conn, p []byte) (int, error) {
	if err := conn.SetWriteDeadline(time.Now().Add(tcpWriteWait)); err != nil {
		return 0, err
	}
	n, err := conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

// awaitWritable returns at once: writeNow waits.
func awaitWritable(net.Conn) {}

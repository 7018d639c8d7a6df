package sockets

import (
	"net"
	"net/http"
	"os"
	"time"
)

// SockOption sets up the file of a socket.
type SockOption func(string) error

func configureUnixTransport(*http.Transport, string, string) error  { return ErrProtocolNotAvailable }
func configureNpipeTransport(*http.Transport, string, string) error { return ErrProtocolNotAvailable }

func DialPipe(string, time.Duration) (net.Conn, error) { return nil, ErrProtocolNotAvailable }

func refused(string) error { return ErrProtocolNotAvailable }

func WithChown(uid, gid int) SockOption               { return refused }
func WithChmod(os.FileMode) SockOption                { return refused }
func NewUnixSocket(string, int) (net.Listener, error) { return nil, ErrProtocolNotAvailable }
func NewUnixSocketWithOpts(string, ...SockOption) (net.Listener, error) {
	return nil, ErrProtocolNotAvailable
}

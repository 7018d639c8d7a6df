// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
)

// LogSeverity says how much a message matters.
type LogSeverity uint8

const (
	LogSeverityDebug LogSeverity = iota
	LogSeverityInfo
	LogSeverityWarning
	LogSeverityError
)

var logSeverityNames = [...]string{
	"debug",
	"info",
	"warning",
	"error",
}

// String returns the name that the contract gives the case.
func (v LogSeverity) String() string { return caseName(logSeverityNames[:], uint8(v)) }

// LogEntry is a message for the user.
type LogEntry struct {
	Severity LogSeverity
	Message  string
	// The resource that the message is about; empty for none.
	URN urn.URN
	// True for progress that replaces the previous such message and is not kept.
	Ephemeral bool
}

// Log says where messages go. Always granted, bounded in size and rate.
type Log interface {
	// Show the message. One that exceeds the limits is cut or dropped, never refused.
	Write(ctx context.Context, entry LogEntry)
}

// Control is the state of the call that is being served.
type Control interface {
	// True once the caller has cancelled the call. A provider that waits for
	// something polls, and returns what it has.
	Cancelled(ctx context.Context) bool
}

// HTTPHeader is a header field. Fields that occur several times are several headers.
type HTTPHeader struct {
	Name  string
	Value []byte
}

// HTTPRequest is a request, whole or the beginning of a streamed one.
type HTTPRequest struct {
	Method string
	// An absolute http or https URL.
	URL     string
	Headers []HTTPHeader
	Body    []byte
	// Milliseconds for the whole exchange; 0 for the host's default.
	TimeoutMs uint64
}

// HTTPResponse is a whole response.
type HTTPResponse struct {
	Status   uint16
	Headers  []HTTPHeader
	Body     []byte
	Trailers []HTTPHeader
}

// HTTPResponseHead is a response whose body is still to be read.
type HTTPResponseHead struct {
	Status  uint16
	Headers []HTTPHeader
}

// HTTPExchange is a streamed exchange; of meaning to the instance that opened it only.
type HTTPExchange uint64

// HTTPChunk is a part of a response's body.
type HTTPChunk struct {
	// Empty at the end of the body.
	Data []byte
	// With the last chunk.
	Trailers []HTTPHeader
}

// HTTP is the way out over HTTP, done by the host with its own TLS. Each request is checked against
// the grants: method, host, port, and path prefix, and the address after resolution.
// Redirects are not followed but returned.
type HTTP interface {
	// A whole exchange with bodies in memory.
	Send(ctx context.Context, request HTTPRequest) (HTTPResponse, error)

	// Begin a streamed exchange. The request's `body` is the first part of the body.
	Open(ctx context.Context, request HTTPRequest) (HTTPExchange, error)

	// Append to the request's body.
	Write(ctx context.Context, exchange HTTPExchange, data []byte) error

	// End the request's body and wait for the response's head.
	Finish(ctx context.Context, exchange HTTPExchange) (HTTPResponseHead, error)

	// Read at most `max` bytes of the response's body.
	Read(ctx context.Context, exchange HTTPExchange, max uint32) (HTTPChunk, error)

	// Give up the exchange. Closing one that is closed does nothing.
	Close(ctx context.Context, exchange HTTPExchange)

	// Begin an exchange for which nobody waits in the host. It is a WASI file descriptor as a
	// connection of `tcp` is. Bytes written to it follow the request's `body`, unless that is the
	// `whole` body, and `sock_shutdown` ends the body. Reading it returns the response in
	// the form of HTTP/1.1: status line, headers, and the body, with a declared length or in chunks
	// with trailers. It fails with EIO.
	Begin(ctx context.Context, request HTTPRequest, whole bool) (HTTPExchange, error)

	// The error of an exchange of `begin`; none while it goes on, or if it has ended well.
	Status(ctx context.Context, exchange HTTPExchange) error
}

// TCPConnection is an open connection; only the instance that opened it can use it. Since 0.2.0 it is also the
// number of a WASI file descriptor, above the descriptors of files: `fd_read`, `fd_write`,
// `sock_shutdown`, `fd_close`, `fd_fdstat_get`, and subscriptions of `poll_oneoff` take it.
// Reading and writing never wait by it: where they would, the error is EAGAIN. Once the call
// is cancelled, it is ECANCELED, and waiting in `poll_oneoff` ends.
type TCPConnection uint64

// TCPConnectRequest is a host and port to connect to.
type TCPConnectRequest struct {
	// A host name or IP address.
	Host string
	Port uint16
	// Milliseconds; 0 for the host's default.
	TimeoutMs uint64
}

// TCP is the way out over TCP, to granted host and port pairs.
type TCP interface {
	// Open a connection.
	Connect(ctx context.Context, request TCPConnectRequest) (TCPConnection, error)

	// Up to `max` bytes; empty at the end of the stream. With `wait` false the
	// result is the error `unavailable` if nothing has arrived.
	Read(ctx context.Context, connection TCPConnection, max uint32, wait bool) ([]byte, error)

	// How many bytes were taken.
	Write(ctx context.Context, connection TCPConnection, data []byte) (uint32, error)

	// End the outgoing stream; the incoming one stays open.
	CloseWrite(ctx context.Context, connection TCPConnection) error

	// Close the connection. Closing one that is closed does nothing.
	Close(ctx context.Context, connection TCPConnection)

	// Begin to open a connection, as `connect` does. It is ready to be written to when it is open,
	// or cannot be opened, which `status` tells.
	Begin(ctx context.Context, request TCPConnectRequest) (TCPConnection, error)

	// Begin to look up the addresses of a host by its name. They are read from the connection, a line each.
	// `port` is where they are wanted for, 0 where that is not known; a refusal names it. A
	// connection to such an address is one to the host, as far as grants go.
	Resolve(ctx context.Context, name string, port uint16) (TCPConnection, error)

	// What the connection failed with. The error is `unavailable`, from the host, while it is
	// being opened.
	Status(ctx context.Context, connection TCPConnection) error
}

// Files is an addition to WASI preview 1 for granted directories. Paths are the same as in the WASI file
// system.
type Files interface {
	// Set the permission bits (as of chmod, at most 0o777) of a file or directory.
	SetMode(ctx context.Context, path string, mode uint32) error

	// The permission bits of a file or directory.
	GetMode(ctx context.Context, path string) (uint32, error)
}

// AssetsForm says what is wanted of the contents.
type AssetsForm uint8

const (
	// The bytes of an asset.
	AssetsFormBlob AssetsForm = iota
	// The files of an archive, whatever its format is: an uncompressed tar in which each name is
	// a clean relative path, occurs once, and names a regular file.
	AssetsFormEntries
	// An archive as one tar file; as it is if it is one.
	AssetsFormTar
	// An archive as one gzipped tar file; as it is if it is one.
	AssetsFormTarGzip
	// An archive as one zip file; as it is if it is one.
	AssetsFormZip
)

var assetsFormNames = [...]string{
	"blob",
	"entries",
	"tar",
	"tar-gzip",
	"zip",
}

// String returns the name that the contract gives the case.
func (v AssetsForm) String() string { return caseName(assetsFormNames[:], uint8(v)) }

// AssetsContents is an asset or archive that is being read; of meaning during the call that opened it only.
type AssetsContents uint64

// Assets is the contents of the assets and archives in the request that is being served. The request names
// them by their hash; where they come from, a file, a URL, or a text, is the host's matter.
// Reading needs no grant: a provider may read the assets passed to it.
type Assets interface {
	// Begin to read the asset or archive that has the hash. It must be in the request, not among
	// the old values, which have only the hash.
	Open(ctx context.Context, hash string, form AssetsForm) (AssetsContents, error)

	// Up to `max` bytes; empty at the end. An error says also that the contents have changed
	// since the hash was made.
	Read(ctx context.Context, contents AssetsContents, max uint32) ([]byte, error)

	// Give up the contents. Closing them again does nothing.
	Close(ctx context.Context, contents AssetsContents)
}

// KVItem is a key's value and its revision.
type KVItem struct {
	// Absent where the key has no value.
	Value *[]byte
	// Changes with each write; 0 where the key has no value.
	Revision uint64
}

// KV is a small store private to the provider and the stack.
type KV interface {
	// The key's value, if it has one.
	Get(ctx context.Context, key string) (KVItem, error)

	// Write the value if the key's revision is still `revision`; the result is the
	// new revision. An absent value deletes the key.
	Put(ctx context.Context, key string, value *[]byte, revision uint64) (uint64, error)

	// The keys with the prefix, in order, at most `limit`, after `after`.
	Keys(ctx context.Context, prefix string, after string, limit uint32) ([]string, error)
}

// Package tcp is the way out of a provider over TCP, for drivers of databases and other
// protocols that know net.Conn. They are given [DialContext], and [LookupHost] where they
// look names up themselves, as pgx does:
//
//	config.DialFunc = tcp.DialContext
//	config.LookupFunc = tcp.LookupHost
//
// In modules that husk provider build makes, package net connects by itself. This package is for modules of a plain go build.
//
// In a module the host connects, as far as the provider's grants go; in other programs, tests above all, package net does. A
// refusal of the host is an error that wraps [abi.ErrDenied]; its message says what to grant. TLS, if it is wanted, is the
// provider's own: package crypto/tls takes the connections. A module has no list of authorities that it could trust by itself, so
// that it needs to be given one.
//
// A connection outlives the call in which it was made, and ends with the module's
// instance. The host runs calls at once in several instances: pools are not shared
// between them, and should be small.
package tcp
